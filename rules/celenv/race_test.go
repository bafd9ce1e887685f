//go:build race

package celenv

// raceDetector tells whether the race detector is on.
const raceDetector = true
