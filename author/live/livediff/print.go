package livediff

import (
	"fmt"
	"strings"

	"kanon.dev/kanon/author/manifests"
)

// Text is what waits or fails, and then the changes as unified diffs. A comment before each names the parent.
func (c *Changes) Text(color bool) string {
	var text strings.Builder
	who := c.who()
	switch {
	case c.Idle != "":
		fmt.Fprintf(&text, "# %s %s: Kanon changes nothing for it\n", who, c.Idle)
	case c.Preview.Unmatched != "" && !c.Preview.Failed():
		fmt.Fprintf(&text, "# %s: the rule does not select it: %s\n", who, c.Preview.Unmatched)
	case c.Preview.Unmatched == "" && c.Parent.GetDeletionTimestamp() != nil:
		fmt.Fprintf(&text, "# %s is being deleted: this is what finalize does\n", who)
	}
	for _, problem := range c.problems {
		fmt.Fprintf(&text, "# %s: %s\n", who, problem.text)
	}
	return text.String() + TextOf(who, c.All, color)
}

// TextOf is changes as unified diffs. A comment before each has who, the parent or the rule.
func TextOf(who string, changes []Change, color bool) string {
	var text strings.Builder
	for _, change := range changes {
		fmt.Fprintf(&text, "# %s: %s\n", who, change.Title())
		diff := change.Unified()
		if color {
			diff = manifests.ColoredDiff(diff)
		}
		text.WriteString(diff)
	}
	return text.String()
}

// who names the parent in texts.
func (c *Changes) who() string {
	return c.Parent.GetKind() + " " + strings.TrimPrefix(c.Parent.GetNamespace()+"/"+c.Parent.GetName(), "/")
}
