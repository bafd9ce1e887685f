package keyring_test

import (
	"context"
	"encoding/base64"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kanon.dev/kanon/engine/keyring"
)

// rotate asks for a new key, and waits until the annotation is removed.
func (w *world) rotate() *corev1.Secret {
	w.t.Helper()
	secrets := w.client.CoreV1().Secrets(w.namespace)
	body := `{"metadata":{"annotations":{"` + keyring.AnnotationRotate + `":"now"}}}`
	asked, err := secrets.Patch(w.t.Context(), keyring.SecretName, types.MergePatchType, []byte(body), metav1.PatchOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(w.t.Context(), time.Minute)
	defer cancel()
	stream, err := secrets.Watch(ctx, metav1.ListOptions{ResourceVersion: asked.ResourceVersion, FieldSelector: "metadata.name=" + keyring.SecretName})
	if err != nil {
		w.t.Fatal(err)
	}
	defer stream.Stop()
	for event := range stream.ResultChan() {
		secret, ok := event.Object.(*corev1.Secret)
		if !ok {
			continue
		}
		if _, asks := secret.Annotations[keyring.AnnotationRotate]; !asks {
			return secret
		}
	}
	w.t.Fatal("waited a minute until the annotation is removed")
	return nil
}

// keysIn returns the number of keys in the Secret.
func keysIn(secret *corev1.Secret) int {
	n := 0
	for entry := range secret.Data {
		if entry != "current" && entry != "since" {
			n++
		}
	}
	return n
}

// However often somebody asks for a new key, the next process can read the Secret. A rotation beyond the limit adds no
// key, and says so.
func TestRotationsHaveALimit(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.start()
	seal := s.loaded().Seal(statement)
	var last *corev1.Secret
	for i := range 40 {
		before := last
		last = w.rotate()
		if want := min(i+2, keyring.MaxKeys); keysIn(last) != want {
			t.Fatalf("after %d rotations there are %d keys, want %d", i+1, keysIn(last), want)
		}
		if keysIn(last) == keyring.MaxKeys && i+1 >= keyring.MaxKeys && string(before.Data["current"]) != string(last.Data["current"]) {
			t.Error("another key seals, although no key was added")
		}
	}
	refused := 40 - (keyring.MaxKeys - 1)
	for range refused {
		select {
		case event := <-s.events:
			if !strings.HasPrefix(event, "Warning RotationRefused ") || !strings.Contains(event, "remove keys that are no longer needed") {
				t.Errorf("the Event is %q", event)
			}
		case <-time.After(time.Minute):
			t.Fatal("there is no Event for a rotation that was refused")
		}
	}
	if err := s.Failure(); err != nil {
		t.Errorf("the keys count as unreadable: %v", err)
	}
	s.stop()

	s = w.start()
	ring := s.loaded()
	if ring.CurrentID() != string(last.Data["current"]) || ring.Check(statement, seal) != keyring.Outdated {
		t.Error("the next process has other keys")
	}

	// Once there is room, a rotation makes a key again.
	w.patch(`{"data": {"` + seal[:4] + `": null}}`)
	if now := w.rotate(); keysIn(now) != keyring.MaxKeys || string(now.Data["current"]) == string(last.Data["current"]) {
		t.Errorf("after a key was removed, a rotation leads to %d keys, of which %s seals", keysIn(now), now.Data["current"])
	}
}

// A Secret with more keys than a rotation adds, which an earlier version may have written, can be read.
func TestSecretWithManyKeys(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	data := keyring.WithKeys(t, keyring.MaxKeys+8)
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: keyring.SecretName}, Data: map[string][]byte{}}
	for entry, text := range data {
		value, err := base64.StdEncoding.DecodeString(text.(string))
		if err != nil {
			t.Fatal(err)
		}
		secret.Data[entry] = value
	}
	if _, err := w.client.CoreV1().Secrets(w.namespace).Create(t.Context(), secret, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	s := w.start()
	if got := s.loaded().CurrentID(); got != string(secret.Data["current"]) {
		t.Errorf("the key %s seals, want %s", got, secret.Data["current"])
	}
	if now := w.rotate(); keysIn(now) != keyring.MaxKeys+8 || string(now.Data["current"]) != string(secret.Data["current"]) {
		t.Errorf("a rotation leads to %d keys, of which %s seals", keysIn(now), now.Data["current"])
	}
}
