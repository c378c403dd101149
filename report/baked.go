package report

// BakedDocument is what "relo --baked" prints with --json.
type BakedDocument struct {
	Schema  string        `json:"schema"`
	Results []BakedResult `json:"results"`
	Exit    int           `json:"exit"`
}

// BakedResult is an object on a kernel.
type BakedResult struct {
	Object   string        `json:"object"`
	Kernel   string        `json:"kernel"`
	Accesses []BakedAccess `json:"accesses"`
}

// BakedAccess is an access of a kernel type at a fixed offset: Meant is the field of the object's own declaration, Hit the kernel's.
type BakedAccess struct {
	Program string `json:"program"`
	Insn    int    `json:"insn"`
	Source  string `json:"source,omitempty"`
	Type    string `json:"type"`
	Offset  int64  `json:"offset"`
	Size    int    `json:"size"`
	Meant   string `json:"meant,omitempty"`
	Hit     string `json:"hit,omitempty"`
	Instead string `json:"instead"`
}
