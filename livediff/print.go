package livediff

import (
	"fmt"
	"io"
	"strings"

	"kanon.dev/kanon/rules/program"
	"kanon.dev/kanon/textdiff"
)

// Print writes the changes as unified diffs, each after a comment that says whose it is, and what waits and fails before them.
func (c *Changes) Print(w io.Writer, color bool) error {
	var text strings.Builder
	who := c.Parent.GetKind() + " " + c.Parent.GetName()
	if namespace := c.Parent.GetNamespace(); namespace != "" {
		who = c.Parent.GetKind() + " " + namespace + "/" + c.Parent.GetName()
	}
	switch {
	case c.Idle != "":
		fmt.Fprintf(&text, "# %s %s: Kanon changes nothing for it\n", who, c.Idle)
	case c.Preview.Unmatched != "":
		fmt.Fprintf(&text, "# %s: the rule does not select it: %s\n", who, c.Preview.Unmatched)
	case c.Parent.GetDeletionTimestamp() != nil:
		fmt.Fprintf(&text, "# %s is being deleted: this is what finalize does\n", who)
		fallthrough
	default:
		c.printProblems(&text, who)
	}
	for _, change := range c.All {
		fmt.Fprintf(&text, "# %s: %s\n", who, change.Title())
		diff := change.Unified()
		if color {
			diff = textdiff.Colored(diff)
		}
		text.WriteString(diff)
	}
	if _, err := io.WriteString(w, text.String()); err != nil {
		return fmt.Errorf("print the differences: %w", err)
	}
	return nil
}

// printProblems writes which children wait, and which fail.
func (c *Changes) printProblems(text *strings.Builder, who string) {
	for _, node := range c.Preview.Nodes {
		switch node.State {
		case program.StateWaiting:
			fmt.Fprintf(text, "# %s: child %s waits: %s\n", who, node.ID, c.Preview.Secrets.Text(node.Text()))
		case program.StateFailed:
			fmt.Fprintf(text, "# %s: child %s fails: %s\n", who, node.ID, c.Preview.Secrets.Text(node.Text()))
		}
	}
}
