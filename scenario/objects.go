package scenario

import "github.com/bpfrun/bpfrun/kernel"

// BuildObjects makes the kernel objects of a text that is written as objects: of a scenario file, and opens its sockets. path is where the text is said to be. Mistakes
// are [*Error] or [Errors].
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
