package scenario

import (
	"github.com/bpfrun/bpfrun/internal/kernel"
	"github.com/bpfrun/bpfrun/internal/kernel/object"
	"github.com/bpfrun/bpfrun/internal/scenario/grammar"
)

// BuildObjects creates kernel objects from a document in the form of a scenario file's objects:,
// and opens its sockets. path appears in positions. Mistakes are [*Error] or [Errors].
func BuildObjects(k *kernel.Kernel, path string, data []byte) (map[string]*object.Object, error) {
	root, err := grammar.ParseYAML(path, data)
	if err != nil {
		return nil, err
	}
	f := &File{Path: path}
	if err := f.decodeObjects(root); err != nil {
		return nil, err
	}
	var wrong grammar.Mistakes
	b := newBuilder(k, f)
	if wrong.Add(b.all()) {
		wrong.Add(b.openSockets())
	}
	return b.objects, wrong.Final()
}
