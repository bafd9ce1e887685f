package source

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kanon.dev/kanon/engine/conditions"
)

// Origin is where documents come from: one ConfigMap, one Rule object or one file. It is comparable; the zero Origin
// names nothing.
type Origin struct {
	// ConfigMap and Rule name the object; both are empty for a file.
	ConfigMap, Rule types.NamespacedName
	// UID is the UID of the object, so that a report is never written to its successor.
	UID types.UID
	// Definition is the UID of the CustomResourceDefinition of a Rule object: nobody removed the objects that were
	// deleted along with it.
	Definition types.UID
	// Path is the path of the file, in the form that was passed to NewFiles; empty for an object.
	Path string
}

// String returns the origin as people name it.
func (o Origin) String() string {
	if o.Path != "" {
		return o.Path
	}
	if o.Rule.Name != "" {
		return "rule/" + o.Rule.String()
	}
	return "configmap/" + o.ConfigMap.String()
}

// Namespace returns the namespace of the object; empty for a file.
func (o Origin) Namespace() string { return cmp.Or(o.ConfigMap.Namespace, o.Rule.Namespace) }

// Text is one piece of YAML with rule documents.
type Text struct {
	// Name is how findings name the text: a path, or configmap/NAMESPACE/NAME/KEY.
	Name string
	Data []byte
	// Object is true if the text was generated from an object: nobody can see its lines.
	Object bool
	// File is true if the text is a file, which may have other documents beside rules.
	File bool
}

// Bundle is one origin with its texts, sorted by name.
type Bundle struct {
	Origin Origin
	// Created is when the origin was created; zero for a file.
	Created time.Time
	// Verdict is the report found on the origin, as text; empty for a file.
	Verdict string
	// Annotations are what people ask of Kanon by annotating the origin; none for a file.
	Annotations Annotations
	Texts       []Text
}

// Annotations are the values of annotations that apply to all rules of an origin; empty if missing.
type Annotations struct {
	ConfirmPrune, ConfirmDefinition, Verbosity string
	// Suspended only counts on the record of a rule in a file: any other rule has an object with a spec.suspend that
	// people can set.
	Suspended bool
}

// AnnotationsOf returns the annotations of an object: of an origin, or of the record of a rule in a file.
func AnnotationsOf(obj metav1.Object) Annotations {
	all := obj.GetAnnotations()
	return Annotations{
		ConfirmPrune: all[AnnotationConfirmPrune], ConfirmDefinition: all[AnnotationConfirmDefinition],
		Verbosity: all[conditions.AnnotationVerbosity], Suspended: conditions.IsSuspended(obj),
	}
}

// Snapshot is everything that one source has at one moment, sorted by the origins' names.
type Snapshot struct {
	Bundles []Bundle
	// Complete is true if everything could be read. Otherwise what is missing may exist all the same.
	Complete bool
}

const (
	// MessageSuspended is the message about a rule whose text suspends it.
	MessageSuspended = "suspended: nothing is written"
	// MessageSuspendedByRecord is the message about a rule in a file that is suspended only by an annotation of its
	// record. If the rule does not run as written, it is the last line of the message.
	MessageSuspendedByRecord = "suspended by an annotation of its record: nothing is written"
)

// RuleReport is the report on one rule of an origin.
type RuleReport struct {
	Name    string `json:"name"`
	Ready   bool   `json:"ready"`
	Message string `json:"message"`
	// Reason is one word that says why the rule is not ready; may be empty.
	Reason string `json:"reason,omitempty"`
	// Waiting is true if the rule is not ready only because the cluster lacks a kind.
	Waiting bool `json:"-"`
	// Warnings has the lines of Message that report warnings.
	Warnings string `json:"-"`
	// ID is the rule's id.
	ID string `json:"-"`
}

// Report is the report on one origin.
type Report struct {
	Ready   bool         `json:"ready"`
	Message string       `json:"message"`
	Rules   []RuleReport `json:"rules,omitempty"`
	// Problems are the problems of the origin that belong to no single rule; Message includes them.
	Problems []string `json:"-"`
	// Parents and Children count the objects of the rule in a Rule object; negative if unknown. Other origins do not
	// use them.
	Parents, Children int `json:"-"`
}

// isDocument reports whether a file or a ConfigMap key has documents, by its name.
func isDocument(name string) bool {
	return strings.HasSuffix(name, ".yaml") || strings.HasSuffix(name, ".yml")
}

// equal reports whether two snapshots have the same texts of the same origins, with the same reports and annotations.
func (s Snapshot) equal(other Snapshot) bool {
	return s.Complete == other.Complete && slices.EqualFunc(s.Bundles, other.Bundles, func(a, b Bundle) bool {
		return a.Origin == b.Origin && a.Verdict == b.Verdict && a.Annotations == b.Annotations && slices.EqualFunc(a.Texts, b.Texts, func(x, y Text) bool {
			return x.Name == y.Name && bytes.Equal(x.Data, y.Data)
		})
	})
}
