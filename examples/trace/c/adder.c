/* Sums that do not lie. */

#include "adder.h"

#include <limits.h>

//= spexus:REQ-001
//# Sums MUST add up.
//= spexus:REQ-002
//# A sum that does not fit MUST be refused.
bool add(int a, int b, int *total) {
    if ((b > 0 && a > INT_MAX - b) || (b < 0 && a < INT_MIN - b)) {
        return false;
    }
    *total = a + b;
    return true;
}
