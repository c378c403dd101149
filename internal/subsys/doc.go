// Package subsys lists the subsystems that are simulated as wholes, one row each, and the documents
// that reports have of them. A subsystem is a folder below this one: its simulator, which knows
// numbers and names only, and in a package below that everything about runs on a machine: the
// driver, the form of scenario files, the check of expectations and the report. Start from
// [Systems].
package subsys
