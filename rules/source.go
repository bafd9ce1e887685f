package rules

// source is the text of one file or ConfigMap key.
type source struct {
	name  string
	lines []string // without their line ends
}
