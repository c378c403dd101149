package proto

// Role is what a kfunc means to the verifier, beyond its flags and the types of its arguments. A
// kfunc has any number of roles.
type Role uint64

// Roles of kfuncs.
const (
	// CastsToContext gives the kernel's struct of the context.
	CastsToContext Role = 1 << iota
	// CastsReadOnly makes a number a pointer that may only be read, and may fault.
	CastsReadOnly
	// Throws ends the program with an exception.
	Throws
	// TakesResLock takes a bpf_res_spin_lock.
	TakesResLock
	// DropsResLock drops it.
	DropsResLock
	// SavesIRQ disables interrupts and saves their state.
	SavesIRQ
	// RestoresIRQ restores their state.
	RestoresIRQ
	// EntersRCU begins a read-side critical section.
	EntersRCU
	// LeavesRCU ends it.
	LeavesRCU
	// DisablesPreemption begins a section without preemption.
	DisablesPreemption
	// EnablesPreemption ends it.
	EnablesPreemption
	// NewObject allocates an object of a type of the program.
	NewObject
	// NewPercpu allocates one for each CPU.
	NewPercpu
	// DropsObject frees such an object.
	DropsObject
	// DropsPercpu frees those of all CPUs.
	DropsPercpu
	// CountsReference takes another reference to an object with a bpf_refcount.
	CountsReference
	// PushesNode moves an object into a list or tree.
	PushesNode
	// AddsToTree compares the elements of a tree by a callback.
	AddsToTree
	// ReturnsNode returns an element of a list or tree.
	ReturnsNode
	// PeeksNode leaves it there.
	PeeksNode
	// TakesTreeNode takes an element of a tree.
	TakesTreeNode
	// DynptrFromSkb makes a dynptr of a packet.
	DynptrFromSkb
	// DynptrFromXDP makes a dynptr of an XDP packet.
	DynptrFromXDP
	// DynptrFromMeta makes a dynptr of a packet's metadata.
	DynptrFromMeta
	// DynptrFromFile makes a dynptr of a file.
	DynptrFromFile
	// DiscardsFileDynptr ends it.
	DiscardsFileDynptr
	// ClonesDynptr makes a dynptr of another one.
	ClonesDynptr
	// SlicesDynptr returns memory of a dynptr.
	SlicesDynptr
	// SlicesReadOnly returns memory of a dynptr that must not be written.
	SlicesReadOnly
	// OfSession takes the context of a session.
	OfSession
	// SessionCookie returns the address of the cookie that both calls of a session share.
	SessionCookie
	// ReturnsUntrusted returns an object that may be freed at any time.
	ReturnsUntrusted
	// PullsPacket may move an XDP packet's bytes.
	PullsPacket
	// DeviceMetadata needs a program that is bound to a device.
	DeviceMetadata
	// IteratesCSSTasks is allowed without sleeping in few programs.
	IteratesCSSTasks
	// SetsWorkCallback says which callback a work item runs later.
	SetsWorkCallback
	// SchedulesTaskWork has a task run a callback later.
	SchedulesTaskWork
	// Traps is called where the compiler saw that a program goes wrong.
	Traps
)

// Is reports whether the kfunc has one of the roles. A nil kfunc has none.
func (k *Kfunc) Is(r Role) bool { return k != nil && k.Role&r != 0 }
