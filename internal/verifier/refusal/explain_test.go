package refusal

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestExplain(t *testing.T) {
	for line, want := range map[string]string{
		"R0 invalid mem access 'map_value_or_null'":                             nullAccess,
		"R1 invalid mem access 'scalar'":                                        numberAccess,
		"R1 invalid mem access 'inv'":                                           numberAccess,
		"R1 invalid mem access 'fp'":                                            badPointer,
		"invalid func unknown#195896080":                                        corePoison,
		"invalid func unknown#2001000003":                                       mapPoison,
		"invalid func unknown#2002000006":                                       kfuncPoison,
		"invalid func unknown#200100":                                           noHelper,
		"invalid func bpf_x#300":                                                noHelper,
		"R2 !read_ok":                                                           unsetRegister,
		"invalid access to packet, off=0 size=4, R2(id=0,off=0,r=0)":            packetRange,
		"combined stack size of 2 calls is 544. Too large":                      stackSize,
		"At program exit the register R0 has smin=2 should have been in [0, 1]": returnRange,
		"Looks like the BPF stack limit is exceeded":                            stackSize,
		"something that no kernel says":                                         "",
	} {
		assert.Equal(t, want, Explain(line), line)
	}
}
