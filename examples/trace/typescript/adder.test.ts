import { describe, expect, it } from "vitest";
import { add } from "./adder";

describe("adder", () => {
  // verifies REQ-001
  it("adds up", () => {
    expect(add(2, 3)).toBe(5);
  });

  // verifies REQ-002
  it("refuses what does not fit", () => {
    expect(() => add(2 ** 31 - 1, 1)).toThrow(RangeError);
  });
});
