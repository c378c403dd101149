package loader

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/testing/testbtf"
)

func TestPickRelease(t *testing.T) {
	hub := []string{
		"hub/ubuntu/20.04/x86_64/5.4.0-1009-aws.btf.tar.xz", "hub/ubuntu/20.04/x86_64/5.4.0-1011-aws.btf.tar.xz",
		"hub/ubuntu/20.04/arm64/5.4.0-1011-aws.btf.tar.xz", "hub/centos/7/x86_64/3.10.0-957.el7.x86_64.btf.tar.xz",
		"hub/debian/10/x86_64/4.19.0-17-amd64.btf.tar.xz", "hub/debian/11/x86_64/5.10.0-9-amd64.btf.tar.xz",
	}
	flat := []string{"linux-5.10.262-amd64-cloud.btf", "linux-6.1.176-amd64.btf.xz", "linux-6.12.107-amd64.btf.xz", "linux-6.12.107-riscv64.btf.xz"}
	for _, c := range []struct {
		files   []string
		release string
		want    []string
	}{
		{hub, "5.4.0-1009-aws", hub[:1]},
		{hub, "5.4.0-1011-aws", hub[1:3]},
		{hub, "3.10.0-957.el7.x86_64", hub[3:4]},
		{hub, "5.10.0-9-amd64", hub[5:6]},
		{hub, "5.4", hub[:3]},
		{hub, "5.1", nil},
		{hub, "6.6.0", nil},
		{flat, "6.12.107-riscv64", flat[3:]},
		{flat, "6.12", flat[2:]},
		{flat, "6.1", flat[1:2]},
		{flat, "6.1.176", flat[1:2]},
		{flat, "nonsense", nil},
		{[]string{"linux-5.15.9-amd64.btf"}, "5.15", []string{"linux-5.15.9-amd64.btf"}},
		{[]string{"linux-5.15.9-amd64.btf"}, "5.15.3", nil},
	} {
		assert.Equal(t, c.want, PickRelease(c.files, c.release), c.release)
	}
}

// TestMilestonesAreInTheirEnums: looking into the enums that kernels name finds what an index of all
// enumerators finds.
func TestMilestonesAreInTheirEnums(t *testing.T) {
	for _, name := range []string{"linux-5.10.262-amd64-cloud", "linux-6.1.176-arm64-cloud", "linux-7.2.13-amd64"} {
		spec, err := testbtf.Load("../testdata/btf/" + name + ".btf.xz")
		require.NoError(t, err)
		has := milestoneEnums(spec)
		for _, m := range milestones {
			_, want := spec.EnumValue("", m.enumerator)
			assert.Equal(t, want, has(m.enumerator), "%s on %s", m.enumerator, name)
		}
	}
}
