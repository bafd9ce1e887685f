package source

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kanon.dev/kanon/engine/request"
)

// Origin is what documents come from as a whole: one ConfigMap, one Rule object or one
// file. It is comparable; the zero Origin names nothing.
type Origin struct {
	// ConfigMap and Rule name the object; both are empty for a file.
	ConfigMap, Rule types.NamespacedName
	// UID is the object's, so that a verdict never lands on a successor.
	UID types.UID
	// Definition is the UID of the CustomResourceDefinition that a Rule object is of: what goes with it was not
	// removed by anybody.
	Definition types.UID
	// Path names the file as the source was told to read it; empty for an object.
	Path string
}

// String is the origin as a person would name it.
func (o Origin) String() string {
	if o.Path != "" {
		return o.Path
	}
	if o.Rule.Name != "" {
		return "rule/" + o.Rule.String()
	}
	return "configmap/" + o.ConfigMap.String()
}

// Namespace is that of the object; empty for a file.
func (o Origin) Namespace() string { return cmp.Or(o.ConfigMap.Namespace, o.Rule.Namespace) }

// Text is one piece of YAML that holds rule documents.
type Text struct {
	// Name is what findings call it: a path, or configmap/NAMESPACE/NAME/KEY.
	Name string
	Data []byte
	// Object is true where the text was made of an object: nobody can see its lines.
	Object bool
	// File is true where the text is a file, in which rules may be beside other documents.
	File bool
}

// Bundle is one origin with its texts, in the order of their names.
type Bundle struct {
	Origin Origin
	// Created is when the origin was made; zero for a file.
	Created time.Time
	// Verdict is the report that the origin carries, as text; empty for a file.
	Verdict string
	// Annotations are what people ask of Kanon by annotations of the origin; none for a file.
	Annotations Annotations
	Texts       []Text
}

// Annotations are the values of annotations that hold for all rules of an origin; empty for those that it does not have.
type Annotations struct {
	ConfirmPrune, ConfirmDefinition, Verbosity string
	// Suspended counts on the record of a rule in a file only: all other rules have an object whose spec.suspend people can change.
	Suspended bool
}

// AnnotationsOf are those of an object: of an origin, or of the record of a rule in a file.
func AnnotationsOf(obj metav1.Object) Annotations {
	all := obj.GetAnnotations()
	return Annotations{
		ConfirmPrune: all[AnnotationConfirmPrune], ConfirmDefinition: all[AnnotationConfirmDefinition],
		Verbosity: all[request.AnnotationVerbosity], Suspended: request.IsSuspended(obj),
	}
}

// Snapshot is everything that one source holds at one moment, in the order of
// the origins' names.
type Snapshot struct {
	Bundles []Bundle
	// Complete is true where all that there is could be read. What is missing in a
	// Snapshot that is not may be there all the same.
	Complete bool
}

const (
	// MessageSuspended is the message about a rule whose text suspends it.
	MessageSuspended = "suspended: nothing is written"
	// MessageSuspendedByRecord is the message about a rule in a file that only an annotation of its record suspends. For a rule that does
	// not run as it is written, it is the last line of the message.
	MessageSuspendedByRecord = "suspended by an annotation of its record: nothing is written"
)

// RuleReport says how one rule of an origin fares.
type RuleReport struct {
	Name    string `json:"name"`
	Ready   bool   `json:"ready"`
	Message string `json:"message"`
	// Reason is one word for why it is not ready, where there is one.
	Reason string `json:"reason,omitempty"`
	// Waiting is true if it is not ready only because the cluster lacks a kind.
	Waiting bool `json:"-"`
	// ID is the rule's id.
	ID string `json:"-"`
}

// Report is the verdict on one origin.
type Report struct {
	Ready   bool         `json:"ready"`
	Message string       `json:"message"`
	Rules   []RuleReport `json:"rules,omitempty"`
	// Problems are those of the origin that belong to no single rule; Message
	// has them too.
	Problems []string `json:"-"`
	// Parents and Children are how many objects the rule of a Rule object has, and below zero where
	// that is not known; they do not count for others.
	Parents, Children int `json:"-"`
}

// isDocument tells whether a file or a ConfigMap key holds documents, by its name.
func isDocument(name string) bool {
	return strings.HasSuffix(name, ".yaml") || strings.HasSuffix(name, ".yml")
}

// equal tells whether two snapshots hold the same texts of the same origins,
// with the same verdicts.
func (s Snapshot) equal(other Snapshot) bool {
	return s.Complete == other.Complete && slices.EqualFunc(s.Bundles, other.Bundles, func(a, b Bundle) bool {
		return a.Origin == b.Origin && a.Verdict == b.Verdict && a.Annotations == b.Annotations && slices.EqualFunc(a.Texts, b.Texts, func(x, y Text) bool {
			return x.Name == y.Name && bytes.Equal(x.Data, y.Data)
		})
	})
}
