package scenario

import "github.com/bpfrun/bpfrun/internal/kernel"

// BuildObjects creates kernel objects from a document in the form of a scenario file's objects:,
// and opens its sockets. path appears in positions. Mistakes are [*Error] or [Errors].
func BuildObjects(k *kernel.Kernel, path string, data []byte) (map[string]*kernel.Object, error) {
	root, err := parseYAML(path, data)
	if err != nil {
		return nil, err
	}
	f := &File{Path: path}
	if err := f.decodeObjects(root); err != nil {
		return nil, err
	}
	var wrong mistakes
	b := newBuilder(k, f)
	if wrong.add(b.all()) {
		wrong.add(b.openSockets())
	}
	return b.objects, wrong.final()
}
