//go:build !race

package celenv

const raceDetector = false
