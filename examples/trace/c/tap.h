/* A test is a function that answers whether what it shows is so; the runner says it by the Test Anything Protocol. */
#ifndef TAP_H
#define TAP_H

#include <stdbool.h>
#include <stdio.h>

#define TEST(suite, name) static bool suite##_##name(void)

#define RUN(number, suite, name) \
    printf("%sok %d - " #suite "::" #name "\n", suite##_##name() ? "" : "not ", number)

#endif
