package app

import (
	"fmt"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	builtin "k8s.io/client-go/kubernetes/scheme"
)

// Group and Version are those of all parent kinds.
const (
	Group   = "bench.kanon.dev"
	Version = "v1"
)

// Kind is one of the parent kinds, which differ only in their names. Most loads use only the first.
type Kind int

// MaxKinds is the maximum number of kinds.
const MaxKinds = 50

// String is the name of the kind: App, App1, App2 and so on.
func (k Kind) String() string { return "App" + k.suffix() }

// Resource is the plural of the kind.
func (k Kind) Resource() string { return "apps" + k.suffix() }

func (k Kind) suffix() string {
	if k == 0 {
		return ""
	}
	return strconv.Itoa(int(k))
}

// Label is the label of all parents and children, for watches to select.
const Label = "bench.kanon.dev/app"

// App is a parent.
type App struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	Spec   Spec   `json:"spec"`
	Status Status `json:"status,omitzero"`
}

// Spec is the spec of an App.
type Spec struct {
	// Revision is in the ConfigMap's data and in the Deployment's image tag, so changing it changes two of the three
	// children.
	Revision string `json:"revision"`
	// Extra is the number of ConfigMaps beyond the three children.
	Extra int `json:"extra,omitempty"`
}

// Status is the status of an App.
type Status struct {
	// ClusterIP is the address of the Service.
	ClusterIP string `json:"clusterIP,omitempty"`
}

// List is a list of Apps.
type List struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata"`

	Items []App `json:"items"`
}

// New makes a parent.
func New(kind Kind, namespace, name, revision string, extra int) *unstructured.Unstructured {
	spec := map[string]any{"revision": revision}
	if extra > 0 {
		spec["extra"] = int64(extra)
	}
	parent := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	parent.SetGroupVersionKind(GroupVersion().WithKind(kind.String()))
	parent.SetNamespace(namespace)
	parent.SetName(name)
	parent.SetLabels(Labels(name))
	return parent
}

// GroupVersion is the API version of parents.
func GroupVersion() schema.GroupVersion { return schema.GroupVersion{Group: Group, Version: Version} }

// Scheme has Apps as one of their kinds, and all built-in kinds. A Go type can stand for only one kind in a
// scheme.
func Scheme(kind Kind) (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	if err := builtin.AddToScheme(scheme); err != nil {
		return nil, fmt.Errorf("add built-in kinds: %w", err)
	}
	scheme.AddKnownTypeWithName(GroupVersion().WithKind(kind.String()), &App{})
	scheme.AddKnownTypeWithName(GroupVersion().WithKind(kind.String()+"List"), &List{})
	metav1.AddToGroupVersion(scheme, GroupVersion())
	return scheme, nil
}

// DeepCopyInto copies a into out.
func (a *App) DeepCopyInto(out *App) {
	*out = *a
	a.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
}

// DeepCopyObject copies a.
func (a *App) DeepCopyObject() runtime.Object {
	out := new(App)
	a.DeepCopyInto(out)
	return out
}

// DeepCopyObject copies l.
func (l *List) DeepCopyObject() runtime.Object {
	out := &List{TypeMeta: l.TypeMeta}
	l.DeepCopyInto(&out.ListMeta)
	if l.Items != nil {
		out.Items = make([]App, len(l.Items))
		for i := range l.Items {
			l.Items[i].DeepCopyInto(&out.Items[i])
		}
	}
	return out
}
