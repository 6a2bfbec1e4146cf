/** Sums that do not lie. */

const LIMIT = 2 ** 31;

//= spexus:REQ-001
//# Sums MUST add up.
//= spexus:REQ-002
//# A sum that does not fit MUST be refused.
export function add(a: number, b: number): number {
  const total = a + b;
  if (total < -LIMIT || total >= LIMIT) {
    throw new RangeError(`${total} does not fit`);
  }
  return total;
}
