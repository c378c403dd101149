//go:build !apart

package embedded

import _ "embed" // for the kernel's BTF

//go:embed linux-6.12.107-amd64.btf.zst
var compressed []byte
