// Package adder has sums that do not lie.
package adder

import "math"

//= spexus:REQ-001
//# Sums MUST add up.
//= spexus:REQ-002
//# A sum that does not fit MUST be refused.
func Add(a, b int32) (int32, bool) {
	total := int64(a) + int64(b)
	if total < math.MinInt32 || total > math.MaxInt32 {
		return 0, false
	}
	return int32(total), true
}
