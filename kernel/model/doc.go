// Package model is what a simulated kernel consists of besides its network: tasks with their credentials, address spaces, open files and
// cgroups, and the disk.
//
// It gives objects of well-known types their default content when a field is first read ([Model.Fill]), builds the objects that a
// user describes ([Model.NewFile], [Model.NewMM], [Model.NewCgroup]) and answers who runs on which CPU. Paths of fields are tried
// in alternatives, since kernels call them differently; what the target's BTF does not have is left out. Programs and their
// contexts are not known here.
//
// This package belongs to the command; it is not part of the Go API (docs/api.md).
package model
