package check

import (
	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
)

// Release is a release of Linux.
type Release = uapi.Release

// kindRules maps kinds that were added later to the rules that allow them.
var kindRules = map[btf.Kind]since.Rule{
	btf.KindFloat: since.KindFloat, btf.KindDeclTag: since.KindDeclTag, btf.KindTypeTag: since.KindTypeTag, btf.KindEnum64: since.KindEnum64,
}
