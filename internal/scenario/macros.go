package scenario

import (
	"math/big"
	"strings"

	"github.com/bpfrun/bpfrun/internal/uapi"
)

// macro parses a macro name, several names or numbers joined by | (S_IFREG|0o644), or an error
// (-ENOENT).
func macro(text string) (*big.Int, bool) {
	if name, ok := strings.CutPrefix(text, "-"); ok {
		e, ok := uapi.ParseErrno(name)
		return big.NewInt(-int64(e)), ok
	}
	out := new(big.Int)
	named := false
	for part := range strings.SplitSeq(text, "|") {
		part = strings.TrimSpace(part)
		v, ok := uapi.Macro(part)
		named = named || ok
		if !ok {
			n, isNumber := number(part)
			if !isNumber || !n.IsInt64() || n.Sign() < 0 {
				return nil, false
			}
			v = n.Int64()
		}
		if v < 0 && part != text {
			return nil, false // AT_FDCWD is not a flag
		}
		out.Or(out, big.NewInt(v))
	}
	return out, named
}

// macro returns the value of a scalar that names macros. A quoted scalar is a string.
func (n *Node) macro() (*big.Int, bool) {
	if n.Kind != Scalar || n.Quoted || n.Tag != "" && conditions[n.Tag] == nil {
		return nil, false
	}
	return macro(n.Text)
}

// atFDCWD is AT_FDCWD.
const atFDCWD = -100
