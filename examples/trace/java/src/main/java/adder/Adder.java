package adder;

/** Sums that do not lie. */
public final class Adder {
    private Adder() {}

    //= spexus:REQ-001
    //# Sums MUST add up.
    //= spexus:REQ-002
    //# A sum that does not fit MUST be refused.
    public static int add(int a, int b) {
        return Math.addExact(a, b);
    }
}
