// Package model implements the contents of a simulated kernel except for its network: tasks with
// their credentials, address spaces, open files and cgroups, and the disk.
//
// It initialises objects of well-known types when a field is first read ([Model.Fill]), builds the
// objects that a user describes ([Model.NewFile], [Model.NewMM], [Model.NewCgroup]) and knows which
// task runs on which CPU. Field paths are tried in several variants, because kernels use different
// names; what the target's BTF lacks is left out. It does not know programs or their contexts.
package model
