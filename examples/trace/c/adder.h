#ifndef ADDER_H
#define ADDER_H

#include <stdbool.h>

bool add(int a, int b, int *total);

#endif
