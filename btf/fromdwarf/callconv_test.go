package fromdwarf

import (
	"debug/elf"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestConventions(t *testing.T) {
	for _, tt := range []struct {
		machine      elf.Machine
		slots        int
		first, last  int16
		twoRegisters bool
	}{
		{elf.EM_X86_64, 6, 5, 9, true},
		{elf.EM_AARCH64, 8, 0, 7, true},
		{elf.EM_S390, 5, 2, 6, false},
		{elf.EM_SPARCV9, 6, noReg, noReg, true},
		{elf.EM_RISCV, 8, noReg, noReg, true},
		{elf.EM_BPF, 0, noReg, noReg, true},
	} {
		c := conventionOf(tt.machine)
		assert.Equal(t, tt.slots, c.slots, tt.machine)
		assert.Equal(t, tt.twoRegisters, c.split, tt.machine)
		assert.Equal(t, tt.first, c.reg(0), tt.machine)
		assert.Equal(t, tt.last, c.reg(max(tt.slots-1, 0)), tt.machine)
		assert.EqualValues(t, noReg, c.reg(tt.slots), tt.machine)
	}
}
