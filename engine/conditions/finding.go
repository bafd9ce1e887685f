package conditions

import (
	"fmt"
	"slices"
	"strings"

	"kanon.dev/kanon/rules/program"
)

// finding is one cause in the message of a condition, with the places in the rule that have it.
type finding struct {
	places []string
	// message is shown if there is one place, cause if there are several: the part that their messages have in common.
	message, cause string
	// objects is how many problems were merged into it.
	objects int
	// advice is what the author of the rule can do; it may be empty.
	advice string
}

// findingOf returns the finding for a problem at a part of the rule.
func findingOf(subject string, of program.Problem) finding {
	place := subject
	if of.Path != "" {
		place += ": " + of.Path
	}
	return finding{places: []string{place}, message: of.Message, cause: of.Message, advice: of.Advice}
}

// maxPlaces is how many places of a finding are named.
const maxPlaces = 3

// String returns the message. Its readers can change the parent but not the rule. So what the parent lacks comes first, and
// what the author of the rule can do comes last.
func (f finding) String() string {
	places, message := strings.Join(f.places[:min(len(f.places), maxPlaces)], ", "), f.message
	if more := len(f.places) - maxPlaces; more > 0 {
		places += fmt.Sprintf(" and %d more", more)
	}
	if f.objects > len(f.places) {
		places += fmt.Sprintf(" (%d objects)", f.objects)
	}
	if len(f.places) > 1 || f.objects > 1 {
		message = f.cause
	}
	if f.advice == "" {
		return places + ": " + message
	}
	return strings.TrimPrefix(message, "parent.") + " (" + places + "); the rule's author can " + f.advice
}

// merged returns the findings with those of the same cause as one, in the order of the first of each.
func merged(findings []finding) []finding {
	var out []finding
	for _, f := range findings {
		i := slices.IndexFunc(out, func(other finding) bool { return other.cause == f.cause && other.advice == f.advice })
		if i < 0 {
			f.objects = 1
			out = append(out, f)
			continue
		}
		out[i].objects++
		for _, place := range f.places {
			if !slices.Contains(out[i].places, place) {
				out[i].places = append(slices.Clip(out[i].places), place)
			}
		}
	}
	return out
}
