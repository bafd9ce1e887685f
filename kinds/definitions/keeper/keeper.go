package keeper

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/kinds/definitions/change"
)

const (
	// Manager is the field manager of definitions.
	Manager = "kanon-definitions"
	// AnnotationHash records the hash of a definition as it was written.
	AnnotationHash = "kanon.dev/definition"
	// AnnotationKeeper names the rule that a definition is made of, and before that Kanon's namespace if the rule is in another one:
	// kanon-system/webapp, or kanon-system/team-a/webapp.
	AnnotationKeeper = "kanon.dev/keeper"
)

// Wanted is a definition as a rule has it.
type Wanted struct {
	Definition *unstructured.Unstructured
	// Hash is that of the definition.
	Hash string
	// Keeper is the value of AnnotationKeeper; empty for a definition that stands beside rules.
	Keeper string
	// Adopt lets Kanon take over a definition that it did not make.
	Adopt bool
	// Confirmed names the changes that may be made although objects lose something.
	Confirmed []string
}

// NameOf is the value of AnnotationKeeper for a rule.
func NameOf(installation, namespace, name string) string {
	if namespace == installation {
		return installation + "/" + name
	}
	return installation + "/" + namespace + "/" + name
}

// Plan is what is to be done.
type Plan struct {
	// Live is the definition in the cluster; nil if there is none.
	Live *unstructured.Unstructured
	// Body is to be applied by Manager; nil: nothing is to be done.
	Body *unstructured.Unstructured
	// Force is true if fields of other managers are taken.
	Force bool
	// Optional is true if the rule can run without it, as the definition differs in nothing that matters.
	Optional bool
	// Restores is true if somebody else has changed what Kanon had written.
	Restores bool
	// Changes are what the definition gets that way; nil for a new one.
	Changes *change.Comparison
}

// Cluster reads from a cluster.
type Cluster interface {
	// Definition reads a definition; the error is apierrors.IsNotFound if there is none.
	Definition(ctx context.Context, name string) (*unstructured.Unstructured, error)
	// Objects calls f with each object that the comparison needs.
	Objects(ctx context.Context, of *change.Comparison, f func(*unstructured.Unstructured) error) error
}

// Prepare decides what is to be done so that the cluster has a definition. The error is a *Refusal if that is nothing that goes away by
// itself. recomputes is true for the field managers whose fields in a status are no loss, as rules set them again.
func Prepare(ctx context.Context, cluster Cluster, w Wanted, recomputes func(manager string) bool) (*Plan, error) {
	live, err := cluster.Definition(ctx, w.Definition.GetName())
	switch {
	case apierrors.IsNotFound(err):
		return &Plan{Body: w.body(nil)}, nil
	case apierrors.IsForbidden(err):
		return nil, &Refusal{Reason: ReasonForbidden, Summary: fmt.Sprintf("%s cannot be compared with the one of the cluster: %v", w.name(), err)}
	case err != nil:
		return nil, err
	}
	plan, err := decide(live, w)
	if err != nil || plan.Body == nil || !plan.Changes.NeedsObjects() {
		return plan, err
	}
	token, err := plan.Changes.Token()
	if err != nil {
		return nil, err
	}
	if slices.Contains(w.Confirmed, token) {
		return plan, nil
	}
	survey, err := plan.Changes.Survey(recomputes)
	if err != nil {
		return nil, err
	}
	err = cluster.Objects(ctx, plan.Changes, func(object *unstructured.Unstructured) error { return survey.Add(ctx, object) })
	if err != nil {
		return nil, unread(w, plan.Changes, err)
	}
	if len(survey.Losses()) > 0 {
		return nil, held(w, survey, token)
	}
	return plan, nil
}

// decide is Prepare as far as the definition alone decides.
func decide(live *unstructured.Unstructured, w Wanted) (*Plan, error) {
	if live.GetDeletionTimestamp() != nil {
		return nil, errors.New("it is being deleted; Kanon creates it again after that")
	}
	changes, err := change.Compare(live, w.Definition)
	if err != nil {
		return nil, err
	}
	if w.isBeside() {
		return decideBeside(live, w, changes)
	}
	plan := &Plan{Live: live, Changes: changes}
	ours, other := owner(live, w)
	switch {
	case !ours && !w.Adopt && changes.IsSame():
		return plan, nil
	case !ours && !w.Adopt:
		return nil, taken(w, other, changes)
	case ours && changes.IsSame() && live.GetAnnotations()[AnnotationHash] == w.Hash && live.GetAnnotations()[AnnotationKeeper] == w.Keeper:
		return plan, nil
	}
	if never := changes.Never(); never != nil {
		return nil, impossible(w, never)
	}
	plan.Body, plan.Force = w.body(live), true
	plan.Optional = changes.IsSame()
	plan.Restores = ours && !plan.Optional && live.GetAnnotations()[AnnotationHash] == w.Hash
	return plan, nil
}

// decideBeside is decide for a definition that stands beside rules. It is applied once, and again when its text changes; what others
// have applied is enough if it has all that the text has.
func decideBeside(live *unstructured.Unstructured, w Wanted, changes *change.Comparison) (*Plan, error) {
	plan := &Plan{Live: live, Changes: changes}
	switch hash := live.GetAnnotations()[AnnotationHash]; {
	case hash == w.Hash && hash != "", hash == "" && covers(live.Object["spec"], w.Definition.Object["spec"]):
		return plan, nil
	}
	if never := changes.Never(); never != nil {
		return nil, impossible(w, never)
	}
	plan.Body = w.body(live)
	return plan, nil
}

// covers reports whether a part of a live definition has all that is wanted there, apart from descriptions.
func covers(live, wanted any) bool {
	switch wanted := wanted.(type) {
	case map[string]any:
		live, ok := live.(map[string]any)
		for key, value := range wanted {
			if _, isText := value.(string); key == "description" && isText {
				continue
			}
			ok = ok && covers(live[key], value)
		}
		return ok
	case []any:
		live, ok := live.([]any)
		return ok && slices.EqualFunc(live, wanted, covers)
	}
	return equality.Semantic.DeepEqual(live, wanted)
}

// isBeside reports whether the definition stands beside rules.
func (w Wanted) isBeside() bool { return w.Keeper == "" }

// owner reports whether this Kanon made a definition. Annotations are copied with an object and field managers are not, so both
// must say so. other is the keeper that it has, if that is another Kanon.
func owner(live *unstructured.Unstructured, w Wanted) (ours bool, other string) {
	managed := slices.ContainsFunc(live.GetManagedFields(), func(entry managedFields) bool { return entry.Manager == Manager })
	keeper, marked := live.GetAnnotations()[AnnotationKeeper]
	if !managed {
		return false, ""
	}
	if !marked { // one that was beside a rule
		return live.GetAnnotations()[AnnotationHash] != "", ""
	}
	if installationOf(keeper) != installationOf(w.Keeper) {
		return false, keeper
	}
	return true, ""
}

// installationOf is Kanon's namespace in a value of AnnotationKeeper.
func installationOf(keeper string) string {
	namespace, _, _ := strings.Cut(keeper, "/")
	return namespace
}

// body is the definition with its marks. live is the one that it replaces, as it was read; nil: there is none.
func (w Wanted) body(live *unstructured.Unstructured) *unstructured.Unstructured {
	body := w.Definition.DeepCopy()
	annotations := body.GetAnnotations()
	if annotations == nil {
		annotations = make(map[string]string, 2)
	}
	annotations[AnnotationHash] = w.Hash
	if !w.isBeside() {
		annotations[AnnotationKeeper] = w.Keeper
	}
	body.SetAnnotations(annotations)
	if live != nil { // what was compared is what is replaced
		body.SetUID(live.GetUID())
		body.SetResourceVersion(live.GetResourceVersion())
	}
	return body
}

// name is how messages call a definition.
func (w Wanted) name() string {
	return fmt.Sprintf("CustomResourceDefinition %s", w.Definition.GetName())
}
