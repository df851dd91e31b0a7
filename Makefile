# SPDX-License-Identifier: Apache-2.0
# A thin front on the presets. `make run` and `make test` are the two commands to know.

RUN = build/release/src/cli/tandem run all -R 4

.PHONY: run test deps
.DEFAULT_GOAL := run

# Installs what is missing, builds, and runs the four operators on four ranks.
run: deps build/release/build.ninja
	@cmake --build --preset release
	$(RUN)

# Installs what is missing, builds the tests and runs the everyday ones.
test: deps
	@tools/dev test

# Installs the packages that the build needs, if any are missing.
deps:
	@tools/packages.sh

build/%/build.ninja: CMakePresets.json
	@cmake --preset $*
	@touch $@
