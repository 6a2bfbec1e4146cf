module example.org/adder

go 1.22
