package adder

import (
	"math"
	"testing"
)

// verifies REQ-001
func TestSumsAddUp(t *testing.T) {
	if total, fits := Add(2, 3); total != 5 || !fits {
		t.Fatal(total, fits)
	}
}

// verifies REQ-002
func TestWhatDoesNotFitIsRefused(t *testing.T) {
	if _, fits := Add(math.MaxInt32, 1); fits {
		t.Fatal("it fits")
	}
}
