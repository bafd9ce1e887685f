package keeper

import (
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"kanon.dev/kanon/definitions/change"
	"kanon.dev/kanon/rules/syntax"
)

// The reasons of refusals.
const (
	// ReasonTaken: somebody else made the definition, or keeps it.
	ReasonTaken = "DefinitionTaken"
	// ReasonHeld: objects would lose something by the change, or the API server does not allow it.
	ReasonHeld = "DefinitionHeld"
	// ReasonForbidden: Kanon lacks the rights.
	ReasonForbidden = "Forbidden"
	// ReasonRefused: the API server does not take the definition.
	ReasonRefused = "DefinitionRefused"
)

// maxLines bounds how many changes or losses a message lists.
const maxLines = 10

// Refusal is why a definition is not written until somebody acts.
type Refusal struct {
	// Reason is one word for it.
	Reason string
	// Message begins with the reason, and says what to do. It may have several lines, the important one first.
	Message string
}

// Error is the message.
func (r *Refusal) Error() string { return r.Message }

func refuse(reason, format string, args ...any) *Refusal {
	return &Refusal{Reason: reason, Message: reason + ": " + fmt.Sprintf(format, args...)}
}

// taken refuses to take over a definition; keeper is the rule of another Kanon that keeps it.
func taken(w Wanted, keeper string, changes *change.Comparison) *Refusal {
	who := "Kanon did not create it"
	if keeper != "" {
		who = fmt.Sprintf("rule %s of another Kanon keeps it", keeper)
	}
	return refuse(ReasonTaken, "%s exists already, differs from spec.parent.schema, and %s: it stays as it is\n"+
		"to take it over, write adopt: true in spec.parent.schema; it would change so:\n%s", w.name(), who, list(changes.Changes))
}

// impossible refuses what the API server does.
func impossible(w Wanted, never []change.Change) *Refusal {
	return refuse(ReasonHeld, "%s stays as it is, because the API server does not allow this change:\n%s\n"+
		"undo it in spec.parent.schema, or give the new kind another name", w.name(), list(never))
}

// held refuses a change by which objects lose something.
func held(w Wanted, survey *change.Survey, token string) *Refusal {
	objects, damaged := survey.Counts()
	return refuse(ReasonHeld, "%s stays as it is, because %d of %d objects would lose something:\n%s\n"+
		"to go on, change these objects, or undo the change of spec.parent.schema, or add a version there\n"+
		"to lose that, annotate the rule, or the ConfigMap that contains it, with %s: %q",
		w.name(), damaged, objects, list(survey.Losses()), syntax.AnnotationConfirmDefinition, token)
}

// unread is why it is not known what objects would lose.
func unread(w Wanted, changes *change.Comparison, err error) error {
	err = fmt.Errorf("%s stays as it is, because it is not known what objects would lose: list %s: %w", w.name(), changes.Objects.GroupResource(), err)
	if apierrors.IsForbidden(err) {
		return refuse(ReasonForbidden, "%v", err)
	}
	return err
}

// Refused is the error of a request that applies a definition, as a *Refusal if that is one that does not go away by itself.
func Refused(w Wanted, create bool, err error) error {
	switch {
	case apierrors.IsForbidden(err):
		verb := "change"
		if create {
			verb = "create"
		}
		return refuse(ReasonForbidden, "Kanon may not %s %s; the rule runs as soon as the cluster has it\n"+
			"an administrator can apply it: kanon crd RULE.yaml | kubectl apply -f -\n"+
			"or give Kanon the right: kanon rbac --definitions\n%v", verb, w.name(), err)
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err):
		return refuse(ReasonRefused, "the API server refuses %s: %v", w.name(), err)
	}
	return err
}

// list is a line for each item.
func list[T fmt.Stringer](items []T) string {
	lines := make([]string, 0, len(items))
	for _, item := range items[:min(len(items), maxLines)] {
		lines = append(lines, "- "+item.String())
	}
	if more := len(items) - len(lines); more > 0 {
		lines = append(lines, fmt.Sprintf("- and %d more", more))
	}
	return strings.Join(lines, "\n")
}
