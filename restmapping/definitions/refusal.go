package definitions

import (
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"kanon.dev/kanon/rules/syntax"
)

// The reasons of refusals.
const (
	// ReasonTaken: somebody else made or keeps the definition.
	ReasonTaken = "DefinitionTaken"
	// ReasonHeld: objects would lose something by the change, or the API server does not allow it.
	ReasonHeld = "DefinitionHeld"
	// ReasonForbidden: Kanon lacks the rights.
	ReasonForbidden = "Forbidden"
	// ReasonRefused: the API server refuses the definition.
	ReasonRefused = "DefinitionRefused"
)

// maxLines bounds the changes or losses that a message lists.
const maxLines = 10

// Withheld is why a definition is not written until somebody acts.
type Withheld struct {
	// Reason is a reason in the sense of conditions.
	Reason string
	// Summary is what is refused and why, in one line. Items are the details.
	Summary string
	Items   []string
	// Advice lists ways to go on, one a line.
	Advice []string
	// Token confirms the change; empty if it cannot be confirmed.
	Token string
}

// Message is the refusal in several lines, the important ones first. It begins with the reason.
func (r *Withheld) Message() string {
	return strings.Join(append([]string{r.Reason + ": " + r.shown(":\n- ", "\n- ")}, r.Advice...), "\n")
}

// Line is the refusal in one line, without reason and advice.
func (r *Withheld) Line() string { return r.shown(": ", "; ") }

// shown is the summary with the first details.
func (r *Withheld) shown(before, between string) string {
	items := slices.Clone(r.Items[:min(len(r.Items), maxLines)])
	if more := len(r.Items) - maxLines; more > 0 {
		items = append(items, fmt.Sprintf("and %d more", more))
	}
	if len(items) == 0 {
		return r.Summary
	}
	return r.Summary + before + strings.Join(items, between)
}

// Hint is the advice in one line.
func (r *Withheld) Hint() string { return strings.Join(r.Advice, "; ") }

func (r *Withheld) Error() string { return r.Message() }

// taken refuses to take over a definition. keeper is the rule of another Kanon that keeps it, if any.
func taken(w Wanted, keeper string, changes *Comparison) *Withheld {
	who := "Kanon did not create it"
	if keeper != "" {
		who = fmt.Sprintf("rule %s of another Kanon keeps it", keeper)
	}
	return &Withheld{
		Reason:  ReasonTaken,
		Summary: fmt.Sprintf("%s stays as it is: it differs from spec.parent.schema, and %s", w.name(), who),
		Items:   stringsOf(changes.Changes),
		Advice:  []string{"to take it over, and change it so, write adopt: true in spec.parent.schema"},
	}
}

func impossible(w Wanted, never []Change) *Withheld {
	return &Withheld{
		Reason:  ReasonHeld,
		Summary: w.name() + " stays as it is, because the API server does not allow this change",
		Items:   stringsOf(never),
		Advice:  []string{fmt.Sprintf("undo the change of %s, or give the new kind another name", w.source())},
	}
}

func held(w Wanted, survey *Survey, token string) *Withheld {
	objects, damaged := survey.Counts()
	marked := "the rule"
	if w.isBeside() {
		marked = "the definition"
	}
	losses := survey.Losses()
	advice := []string{fmt.Sprintf("to go on, change these objects, or undo the change of %s", w.source())}
	for _, loss := range losses {
		if way := "instead, " + loss.Instead; loss.Instead != "" && !slices.Contains(advice, way) {
			advice = append(advice, way)
		}
	}
	return &Withheld{
		Reason:  ReasonHeld,
		Token:   token,
		Summary: fmt.Sprintf("%s stays as it is, because %d of %d objects would lose something", w.name(), damaged, objects),
		Items:   stringsOf(losses),
		Advice: append(advice,
			fmt.Sprintf("to lose that, annotate %s, or the ConfigMap that contains it, with %s: %q", marked, syntax.AnnotationConfirmDefinition, token)),
	}
}

func (w Wanted) source() string {
	if w.isBeside() {
		return "the document"
	}
	return "spec.parent.schema"
}

// unread is the error if it cannot be determined what objects would lose.
func unread(w Wanted, changes *Comparison, err error) error {
	err = fmt.Errorf("%s stays as it is, because it is not known what objects would lose: list %s: %w", w.name(), changes.Objects.GroupResource(), err)
	if apierrors.IsForbidden(err) {
		return &Withheld{Reason: ReasonForbidden, Summary: err.Error()}
	}
	return err
}

// WithheldBy converts the error of an apply to a *Withheld if somebody has to act.
func WithheldBy(w Wanted, create bool, err error) error {
	switch {
	case w.isBeside():
	case apierrors.IsForbidden(err):
		verb := "change"
		if create {
			verb = "create"
		}
		return &Withheld{
			Reason:  ReasonForbidden,
			Summary: fmt.Sprintf("Kanon may not %s %s; the rule runs as soon as the cluster has it", verb, w.name()),
			Items:   []string{err.Error()},
			Advice: []string{
				"an administrator can apply it: kanon crd RULE.yaml | kubectl apply -f -",
				"or give Kanon the right: kanon rbac --definitions",
			},
		}
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err):
		return &Withheld{Reason: ReasonRefused, Summary: fmt.Sprintf("the API server refuses %s", w.name()), Items: []string{err.Error()}}
	}
	return err
}

func stringsOf[T fmt.Stringer](items []T) []string {
	lines := make([]string, len(items))
	for i, item := range items {
		lines[i] = item.String()
	}
	return lines
}
