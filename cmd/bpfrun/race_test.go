//go:build race

package main

// raceDetector: commands take ten times as long.
const raceDetector = true
