package loader_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/bpfrun/bpfrun/loader"
)

// Some distributions keep a release's name through all of its updates.
func TestReleasesThatHideUpdates(t *testing.T) {
	for name, want := range map[string]bool{
		"linux-6.8.0-151-generic.btf":    true,
		"5.15.0-1019-aws.btf":            true,
		"6.1.0-57-cloud-amd64":           true,
		"linux-6.1.192-amd64-cloud.btf":  false,
		"6.12.107+deb12-cloud-amd64.btf": false,
		"6.8.0-rc3.btf":                  false,
		"6.8.0.btf":                      false,
		"5.14.0-503.11.1.el9_5.x86_64":   false, // has no verdicts at all
		"6.11.4-301.fc41.x86_64":         false,
		"kernel.btf":                     false,
	} {
		assert.Equal(t, want, loader.NewTarget(name, nil).UpdatesUnknown(), name)
		assert.False(t, loader.NewTarget(name, nil, loader.WithVersion(6<<16|8<<8|12)).UpdatesUnknown(), "%s, with a version", name)
	}
}

// The rules of some distributions' kernels are not those of the releases that they are named after.
func TestKernelsOfVendors(t *testing.T) {
	for name, want := range map[string]string{
		"5.14.0-503.11.1.el9_5.x86_64.btf":       "Red Hat Enterprise Linux",
		"linux-4.18.0-553.el8.aarch64.btf.xz":    "Red Hat Enterprise Linux",
		"6.12.0-55.9.1.el10_0":                   "Red Hat Enterprise Linux",
		"5.14.0-687.el9.s390x.btf":               "Red Hat Enterprise Linux",
		"5.14.21-150500.55.7-default":            "SUSE Linux Enterprise",
		"6.4.0-150600.23.25-default.btf":         "SUSE Linux Enterprise",
		"5.15.0-306.177.4.el9uek.x86_64.btf":     "",
		"6.12.107+deb12-cloud-amd64.btf":         "",
		"5.15.0-1019-aws.btf":                    "",
		"6.1.119-129.201.amzn2023.x86_64.btf":    "",
		"linux-6.6.87.2-microsoft-standard-WSL2": "",
		"6.11.4-301.fc41.x86_64":                 "",
		"kernel.btf":                             "",
	} {
		target := loader.NewTarget(name, nil)
		assert.Equal(t, want, target.Vendor(), name)
		assert.Empty(t, loader.NewTarget(name, nil, loader.WithVersion(6<<16|8<<8)).Vendor(), "%s, with a version", name)
	}
}
