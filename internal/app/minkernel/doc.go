// Package minkernel finds the oldest release of Linux that loads each program of an object, what
// holds it back before that one, and what would hold it back next.
//
// A release whose types are at hand is asked with them: hooks, CO-RE and the verifier. One without
// is asked by the rows of releases alone (internal/uapi/since, helpers/proto, progtype, map types),
// with the types of the nearest kernels on both sides in its place; where these two disagree and no
// row decides, the answer is [Unknown]. Releases are bisected first and then all asked, because
// rules also become stricter.
//
// The package does not run programs and does not render. Start from [Find] and [Program].
package minkernel
