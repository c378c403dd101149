package ebpfspec_test

import (
	"sync"

	"github.com/bpfrun/bpfrun/btf/embedded"
)

var kernelTypes = sync.OnceValues(embedded.Spec)
