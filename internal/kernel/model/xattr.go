package model

// XattrKey is an extended attribute of the file with an absolute path.
type XattrKey struct{ Path, Name string }

// xattrRoom is what an ext4 file has for its attributes: a block, and no large values of their own.
const xattrRoom = 4096

// Xattr returns the value of an attribute; ok is false if the file does not have it.
func (m *Model) Xattr(k XattrKey) (value string, ok bool) {
	value, ok = m.xattrs.Lookup(k)
	return value, ok
}

// SetXattr sets an attribute. It returns false, and changes nothing, if the file has no room for
// it.
func (m *Model) SetXattr(k XattrKey, value string) bool {
	used := len(k.Name) + len(value)
	for other, v := range m.xattrs.All() {
		if other.Path == k.Path && other != k {
			used += len(other.Name) + len(v)
		}
	}
	if used > xattrRoom {
		return false
	}
	m.xattrs.Set(k, value)
	return true
}

// RemoveXattr removes an attribute.
func (m *Model) RemoveXattr(k XattrKey) { m.xattrs.Delete(k) }
