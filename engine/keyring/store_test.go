package keyring_test

import (
	"context"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"kanon.dev/kanon/engine/keyring"
	"kanon.dev/kanon/internal/controlplanetest"
)

func TestMain(m *testing.M) { os.Exit(controlplanetest.Main(m)) }

// stored is a store that runs in a namespace of its own.
type stored struct {
	*keyring.Store

	t       *testing.T
	changed chan struct{}
	stop    func()
}

type world struct {
	t         *testing.T
	namespace string
	client    kubernetes.Interface
	dynamic   dynamic.Interface
}

func newWorld(t *testing.T) *world {
	t.Helper()
	config := controlplanetest.Config(t)
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	dynamicClient, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return &world{t: t, namespace: controlplanetest.Namespace(t, config), client: client, dynamic: dynamicClient}
}

// start runs a store until the test ends or stop is called.
func (w *world) start() *stored {
	w.t.Helper()
	s := &stored{t: w.t, changed: make(chan struct{}, 100)}
	s.Store = keyring.NewStore(keyring.Options{
		Client: w.dynamic, Namespace: w.namespace,
		MakeNamespace: func(ctx context.Context) error {
			_, err := w.client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.namespace}}, metav1.CreateOptions{})
			return err
		},
		Restored: func() {},
		MayWrite: func() bool { return true },
		Changed:  func() { s.changed <- struct{}{} },
	})
	ctx, cancel := context.WithCancel(w.t.Context())
	done := make(chan struct{})
	go func() { defer close(done); s.Run(ctx) }()
	s.stop = sync.OnceFunc(func() { cancel(); <-done })
	w.t.Cleanup(s.stop)
	return s
}

// until waits for a state of the store.
func (s *stored) until(what string, reached func() bool) {
	s.t.Helper()
	timeout := time.After(time.Minute)
	for !reached() {
		select {
		case <-s.changed:
		case <-timeout:
			s.t.Fatalf("waited a minute until %s; failure: %v", what, s.Failure())
		}
	}
}

func (s *stored) loaded() *keyring.Keyring {
	s.t.Helper()
	s.until("there are keys", func() bool { return s.Keyring() != nil })
	return s.Keyring()
}

func (w *world) patch(body string) {
	w.t.Helper()
	_, err := w.client.CoreV1().Secrets(w.namespace).Patch(w.t.Context(), keyring.SecretName, types.MergePatchType, []byte(body), metav1.PatchOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
}

const statement = "what is sealed"

func TestStore(t *testing.T) {
	w := newWorld(t)
	s := w.start()
	first := s.loaded()
	seal := first.Seal(statement)
	// Another process reads the same key.
	s.stop()
	s = w.start()
	if got := s.loaded().Check(statement, seal); got != keyring.Current {
		t.Fatalf("after a restart the seal is %v", got)
	}

	w.patch(`{"metadata": {"annotations": {"` + keyring.AnnotationRotate + `": "now"}}}`)
	s.until("there is another key", func() bool { return s.Keyring().CurrentID() != first.CurrentID() })
	if got := s.Keyring().Check(statement, seal); got != keyring.Outdated {
		t.Errorf("after a rotation the seal is %v", got)
	}
	secret, err := w.client.CoreV1().Secrets(w.namespace).Get(t.Context(), keyring.SecretName, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, wanted := secret.Annotations[keyring.AnnotationRotate]; wanted {
		t.Error("the wish for a new key is still there")
	}

	// What cannot be understood changes nothing, and says why.
	current := s.Keyring().CurrentID()
	w.patch(`{"data": {"current": "AAAA"}}`)
	s.until("the failure is known", func() bool { return s.Failure() != nil })
	if s.Keyring().CurrentID() != current {
		t.Error("a Secret that cannot be understood has another key seal")
	}

	w.patch(`{"data": {"current": null, "format": "Mg=="}}`)
	s.until("it is known that it has another format", func() bool {
		return s.Failure() != nil && strings.Contains(s.Failure().Error(), "not one of this version")
	})

	// One that is deleted comes again with the same keys.
	if err := w.client.CoreV1().Secrets(w.namespace).Delete(t.Context(), keyring.SecretName, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	s.until("the Secret is there again", func() bool { return s.Failure() == nil })
	s.stop()
	s = w.start()
	again := s.loaded()
	if again.CurrentID() != current || again.Check(statement, seal) != keyring.Outdated {
		t.Errorf("the Secret that was made again has the key %s, want %s", again.CurrentID(), current)
	}

	w.patch(`{"data": {"previous": null}}`)
	s.until("the old key is taken out", func() bool { return s.Keyring().Check(statement, seal) == keyring.Unknown })
}

// Of two that start at the same time, both have the key of one.
func TestStoresAtTheSameTime(t *testing.T) {
	w := newWorld(t)
	one, other := w.start(), w.start()
	if a, b := one.loaded().CurrentID(), other.loaded().CurrentID(); a != b {
		t.Errorf("they have the keys %s and %s", a, b)
	}
}

func TestStoreMakesTheNamespace(t *testing.T) {
	w := newWorld(t)
	w.namespace += "-2"
	w.start().loaded()
}
