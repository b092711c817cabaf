# The C library: libmbuf.so, libmbuf.a, the headers and the pkg-config file, ready for use in $(OUT) or to be installed.
#
#   make                                 builds; use it by PKG_CONFIG_PATH=$(OUT)/lib/pkgconfig
#   make examples                        builds and runs those of examples/c
#   make install PREFIX=/usr DESTDIR=    installs
#
# Rust users need none of this.

CARGO   ?= cargo
PROFILE ?= release
OUT     ?= target/c
PREFIX  ?= /usr/local
DESTDIR ?=
LIBDIR  ?= $(PREFIX)/lib

VERSION := $(shell sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
# Until version 1 each minor version may change the binary interface.
SONAME  := libmbuf.so.$(shell echo $(VERSION) | sed -E 's/^(0\.[0-9]+).*/\1/; t; s/^([0-9]+).*/\1/')
SHARED  := libmbuf.so.$(VERSION)
BUILT   := $(OUT)/build/$(subst dev,debug,$(PROFILE))
HEADERS := include/acl_mbuf.h include/mbuf.h

# What the standard library needs of the system, for programs that link statically.
STATIC_LIBS := -lpthread -ldl -lm -lgcc_s -lc

# The pkg-config file: $(call pkg-config,PREFIX,LIBDIR).
pkg-config = printf '%s\n' \
    'prefix=$(1)' 'libdir=$(2)' 'includedir=$${prefix}/include' '' \
    'Name: mbuf' \
    'Description: Message buffers for latency-critical pipelines, and the aclrt*Buf interface' \
    'Version: $(VERSION)' \
    'Libs: -L$${libdir} -lmbuf' \
    'Libs.private: $(STATIC_LIBS)' \
    'Cflags: -I$${includedir}'

.PHONY: all examples install clean

all:
	$(CARGO) rustc --lib --profile $(PROFILE) --features capi --crate-type cdylib,staticlib --target-dir "$(OUT)/build" \
	    -- -C link-arg=-Wl,-soname,$(SONAME) -C link-arg=-Wl,-z,nodelete
	mkdir -p "$(OUT)/include" "$(OUT)/lib/pkgconfig"
	cp $(HEADERS) "$(OUT)/include"
	cp "$(BUILT)/libmbuf.a" "$(OUT)/lib"
	cp "$(BUILT)/libmbuf.so" "$(OUT)/lib/$(SHARED)"
	ln -sf $(SHARED) "$(OUT)/lib/$(SONAME)"
	ln -sf $(SONAME) "$(OUT)/lib/libmbuf.so"
	$(call pkg-config,$(abspath $(OUT)),$(abspath $(OUT))/lib) > "$(OUT)/lib/pkgconfig/mbuf.pc"

examples: all
	$(MAKE) -C examples/c run PKG_CONFIG_PATH=$(abspath $(OUT))/lib/pkgconfig BUILD=$(abspath $(OUT))/examples

install: all
	install -d "$(DESTDIR)$(PREFIX)/include" "$(DESTDIR)$(LIBDIR)/pkgconfig"
	install -m 644 $(HEADERS) "$(DESTDIR)$(PREFIX)/include"
	install -m 644 "$(OUT)/lib/libmbuf.a" "$(DESTDIR)$(LIBDIR)"
	install -m 755 "$(OUT)/lib/$(SHARED)" "$(DESTDIR)$(LIBDIR)"
	ln -sf $(SHARED) "$(DESTDIR)$(LIBDIR)/$(SONAME)"
	ln -sf $(SONAME) "$(DESTDIR)$(LIBDIR)/libmbuf.so"
	$(call pkg-config,$(PREFIX),$(LIBDIR)) > "$(DESTDIR)$(LIBDIR)/pkgconfig/mbuf.pc"

clean:
	rm -rf "$(OUT)"
