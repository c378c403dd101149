// Package event is the core of simulations: what happens at which point of simulated time, one
// thing after the other, until an end, an error, or a limit on how much may happen. Start from
// [New] and [Queue.Run]. It does not know what an event is about, and who lets time pass between
// two of them.
package event
