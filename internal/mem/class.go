package mem

// Class is the shadow value of one granule (eight bytes) of the arena.
//
// A load may proceed without further checks if class&^LoadsIgnore is 0, a store if the class is 0, or ClassHeadGuarded
// and the store touches only the last four bytes. Values 1 to 7, with or without ClassStoreTrap, mean that only the
// first n bytes of the granule are valid. Classes from ClassTrap on send every access to the precise path.
type Class uint8

const (
	// ClassPlain marks eight valid bytes.
	ClassPlain Class = 0
	// ClassStoreTrap is the bit that sends stores, but not loads, to the precise
	// path: read-only memory and write watches.
	ClassStoreTrap Class = 0x40
	// ClassHeadGuarded is ClassStoreTrap for the first four bytes alone: a lock, with data of the
	// program beside it.
	ClassHeadGuarded Class = ClassStoreTrap | 0x20
	// LoadsIgnore has the bits that mean nothing to loads.
	LoadsIgnore = ClassHeadGuarded
	// ClassTrap is the lowest class that traps loads and stores.
	ClassTrap Class = 0x80
	// ClassWatch marks a granule with a read watch; its real class is stored elsewhere.
	ClassWatch Class = 0x90
	// ClassMixed marks a granule whose valid bytes are not a prefix; its region's bounds decide.
	ClassMixed Class = 0xa0
	// ClassUndefined marks allocated bytes that were never written; a side table records which of
	// the eight.
	ClassUndefined Class = 0xb0
	// ClassUnwritten marks bytes that this run did not write, though it may read them; the same
	// side table records which.
	ClassUnwritten Class = 0xb8
	// ClassView marks memory whose accesses go to the region's View.
	ClassView Class = 0xc0
	// ClassFreed marks memory of a freed region.
	ClassFreed Class = 0xd0
	// ClassRedzone marks the gap around regions and array elements.
	ClassRedzone Class = 0xe0
	// ClassUnallocated marks arena memory that belongs to no region.
	ClassUnallocated Class = 0xff
)

// granule is the number of bytes one shadow byte describes.
const granule = 8
