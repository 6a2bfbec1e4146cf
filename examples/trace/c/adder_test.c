#include "adder.h"
#include "tap.h"

#include <limits.h>

// verifies REQ-001
TEST(adder, sums_add_up) {
    int total;
    return add(2, 3, &total) && total == 5;
}

// verifies REQ-002
TEST(adder, what_does_not_fit_is_refused) {
    int total;
    return !add(INT_MAX, 1, &total);
}

int main(void) {
    puts("1..2");
    RUN(1, adder, sums_add_up);
    RUN(2, adder, what_does_not_fit_is_refused);
}
