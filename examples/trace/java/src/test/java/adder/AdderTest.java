package adder;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import org.junit.jupiter.api.Test;

class AdderTest {
    // verifies REQ-001
    @Test
    void sumsAddUp() {
        assertEquals(5, Adder.add(2, 3));
    }

    // verifies REQ-002
    @Test
    void whatDoesNotFitIsRefused() {
        assertThrows(ArithmeticException.class, () -> Adder.add(Integer.MAX_VALUE, 1));
    }
}
