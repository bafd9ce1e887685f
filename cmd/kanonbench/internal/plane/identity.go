package plane

import (
	"context"
	_ "embed" // the engine's objects
	"fmt"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/yaml"

	"kanon.dev/kanon/cmd/kanonbench/internal/app"
)

//go:embed engine.yaml
var engineObjects string

// Namespace is the namespace of parents and children, and the other two name the engine's ServiceAccount, which is in
// Kanon's own namespace. They are those of engine.yaml.
const (
	Namespace       = "kanonbench"
	engineNamespace = "kanon-system"
	engineAccount   = "engine"
)

// tokenLife is the validity of tokens in seconds. It is longer than any benchmark.
const tokenLife = int64(48 * time.Hour / time.Second)

// Define defines parent kinds up to a number, and waits until they are served.
func (p *Plane) Define(ctx context.Context, kinds int) error {
	for ; p.kinds < kinds; p.kinds++ {
		if err := p.define(ctx, app.Kind(p.kinds)); err != nil {
			return fmt.Errorf("define %s: %w", app.Kind(p.kinds), err)
		}
	}
	return nil
}

func (p *Plane) define(ctx context.Context, kind app.Kind) error {
	if err := p.create(ctx, app.Definition(kind)); err != nil {
		return err
	}
	served := func(ctx context.Context) (bool, error) {
		_, err := p.core.Discovery().RESTClient().Get().AbsPath("/apis", app.Group, app.Version, kind.Resource()).DoRaw(ctx)
		return err == nil, nil // any error is retried
	}
	if err := wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, time.Minute, true, served); err != nil {
		return fmt.Errorf("wait until the definition is served: %w", err)
	}
	return nil
}

// create creates the objects of YAML documents.
func (p *Plane) create(ctx context.Context, text string) error {
	for document := range strings.SplitSeq(text, "---\n") {
		var object unstructured.Unstructured
		if err := yaml.Unmarshal([]byte(document), &object.Object); err != nil {
			return fmt.Errorf("read object: %w", err)
		}
		if err := p.objects.Create(ctx, &object); err != nil {
			return fmt.Errorf("create %s: %w", object.GetKind(), err)
		}
	}
	return nil
}

// identify makes the namespaces and the identity of engines.
func (p *Plane) identify(ctx context.Context) error {
	if err := p.create(ctx, engineObjects); err != nil {
		return err
	}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: engineNamespace, Name: engineAccount}}
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: new(tokenLife)}}
	if err := p.objects.SubResource("token").Create(ctx, account, request); err != nil {
		return fmt.Errorf("create token: %w", err)
	}
	return p.writeKubeconfig(request.Status.Token)
}

// writeKubeconfig writes the engine's kubeconfig: the administrator's cluster with a token.
func (p *Plane) writeKubeconfig(token string) error {
	config := clientcmdapi.Config{
		Clusters:       map[string]*clientcmdapi.Cluster{"bench": {Server: p.Config.Host, CertificateAuthorityData: p.Config.CAData}},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{"engine": {Token: token}},
		Contexts:       map[string]*clientcmdapi.Context{"bench": {Cluster: "bench", AuthInfo: "engine"}},
		CurrentContext: "bench",
	}
	if err := clientcmd.WriteToFile(config, p.EngineKubeconfig); err != nil {
		return fmt.Errorf("write kubeconfig: %w", err)
	}
	return nil
}
