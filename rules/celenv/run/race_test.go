//go:build race

package run

// raceDetector tells whether the race detector is on.
const raceDetector = true
