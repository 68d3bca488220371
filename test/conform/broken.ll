; SPDX-License-Identifier: Apache-2.0
; No module: a value is used before it is there.
define double @test_broken(double %x) {
  %1 = fadd double %2, %x
  %2 = fadd double %x, %x
  ret double %1
}
