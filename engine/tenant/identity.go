package tenant

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
)

// Identity is whose rights requests are sent with. The zero value is the identity of the process.
type Identity struct {
	// ServiceAccount is whose rights apply.
	ServiceAccount types.NamespacedName
	// Confined is true if requests about anything outside the ServiceAccount's namespace are not sent, whatever its
	// rights are.
	Confined bool
}

// IsZero reports whether this is the identity of the process.
func (i Identity) IsZero() bool { return i == Identity{} }

// User returns the user name of the ServiceAccount: system:serviceaccount:NAMESPACE:NAME.
func (i Identity) User() string {
	return serviceaccount.MakeUsername(i.ServiceAccount.Namespace, i.ServiceAccount.Name)
}

// Groups returns the groups that the API server gives the ServiceAccount.
func (i Identity) Groups() []string {
	return append(serviceaccount.MakeGroupNames(i.ServiceAccount.Namespace), "system:authenticated")
}

// Permits reports whether requests about a namespace may be sent. The empty namespace stands for cluster-scoped
// objects and for all namespaces.
func (i Identity) Permits(namespace string) bool {
	return !i.Confined || namespace == i.ServiceAccount.Namespace
}

// Home returns the namespace to which the identity is confined; empty if it is not.
func (i Identity) Home() string {
	if i.Confined {
		return i.ServiceAccount.Namespace
	}
	return ""
}

type contextKey struct{}

// NewContext returns a context whose requests are sent for an identity. The zero identity undoes an earlier one.
func NewContext(ctx context.Context, identity Identity) context.Context {
	return context.WithValue(ctx, contextKey{}, identity)
}

// FromContext returns the identity for which the requests of a context are sent.
func FromContext(ctx context.Context) Identity {
	identity, _ := ctx.Value(contextKey{}).(Identity)
	return identity
}
