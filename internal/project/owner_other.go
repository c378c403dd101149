//go:build !unix

package project

// Own reports whether the file belongs to the user who runs this process, which is not known here.
func (f *File) Own() bool { return true }

// Shared reports whether everybody may put files in the file's directory, which is not known here.
func (f *File) Shared() bool { return false }
