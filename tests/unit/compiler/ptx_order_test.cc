// The order of the modifiers of a mnemonic: every order of a form of each row is accepted exactly
// if ptxas accepts it.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "compiler/assemble/process.h"
#include "compiler/assemble/tools.h"
#include "ptx/parse/module.h"
#include "ptx/table/table.h"

namespace tarsia::compiler::ptx_order_test {
namespace {

constexpr char kHopper[] = R"(cvta.to.global.u64 %d3, %d4;
mapa.shared::cluster.u32 %r4, %r5, %r6;
getctarank.shared::cluster.u32 %r7, %r0;
slct.u16.s32 %h5, %h6, %h7, %r0;
slct.ftz.u16.f32 %h5, %h6, %h7, %r0;
add.sat.s32 %r5, %r6, %r7;
sub.sat.s32 %r0, %r1, %r2;
mul.lo.u16 %h3, %h4, %h5;
mul.hi.u16 %h5, %h6, %h7;
mul.wide.u16 %r7, %h0, %h1;
mul24.lo.u32 %r3, %r4, %r5;
mad.lo.u16 %h7, %h0, %h1, %h2;
mad.hi.u16 %h7, %h0, %h1, %h2;
mad.hi.sat.s32 %r7, %r0, %r1, %r2;
mad.wide.u16 %r3, %h4, %h5, %r6;
mad24.lo.u32 %r3, %r4, %r5, %r6;
min.relu.s32 %r3, %r4, %r5;
max.relu.s32 %r1, %r2, %r3;
bfind.shiftamt.u32 %r1, %r2;
bmsk.clamp.b32 %r7, %r0, %r1;
szext.clamp.u32 %r5, %r6, %r7;
dp4a.u32.u32 %r1, %r2, %r3, %r4;
dp2a.lo.u32.u32 %r1, %r2, %r3, %r4;
add.cc.u32 %r1, %r2, %r3;
addc.cc.u32 %r0, %r1, %r2;
sub.cc.u32 %r5, %r6, %r7;
subc.cc.u32 %r4, %r5, %r6;
mad.lo.cc.u32 %r1, %r2, %r3, %r4;
madc.lo.cc.u32 %r1, %r2, %r3, %r4;
shf.l.clamp.b32 %r1, %r2, %r3, %r4;
prmt.b32.f4e %r5, %r6, %r7, %r0;
setp.eq.b16 %p5, %h6, %h7;
setp.eq.ftz.f32 %p0, %r1, %r2;
setp.eq.f64 %p6, %d7, %d0;
setp.eq.ftz.f16 %p0, %h1, %h2;
set.eq.u32.b16 %r0, %h1, %h2;
set.eq.ftz.u32.f32 %r0, %r1, %r2;
set.eq.u32.f64 %r0, %d1, %d2;
set.eq.ftz.u16.f16 %h0, %h1, %h2;
set.eq.ftz.f16x2.f16x2 %r5, %r6, %r7;
testp.finite.f32 %p2, %r3;
add.rp.ftz.sat.f32 %r3, %r4, %r5;
sub.rm.ftz.sat.f32 %r3, %r4, %r5;
mul.rz.ftz.sat.f32 %r0, %r1, %r2;
fma.rm.ftz.sat.f32 %r2, %r3, %r4, %r5;
mad.rz.ftz.sat.f32 %r6, %r7, %r0, %r1;
div.rn.ftz.f32 %r2, %r3, %r4;
div.approx.ftz.f32 %r1, %r2, %r3;
div.full.ftz.f32 %r7, %r0, %r1;
rcp.rn.ftz.f32 %r4, %r5;
sqrt.rn.ftz.f32 %r0, %r1;
rsqrt.approx.ftz.f32 %r4, %r5;
sin.approx.ftz.f32 %r0, %r1;
cos.approx.ftz.f32 %r4, %r5;
lg2.approx.ftz.f32 %r0, %r1;
ex2.approx.ftz.f32 %r4, %r5;
tanh.approx.f32 %r6, %r7;
abs.ftz.f32 %r2, %r3;
neg.ftz.f32 %r6, %r7;
min.ftz.NaN.xorsign.abs.f32 %r3, %r4, %r5;
max.ftz.NaN.xorsign.abs.f32 %r4, %r5, %r6;
add.rn.f64 %d1, %d2, %d3;
sub.rn.f64 %d0, %d1, %d2;
mul.rn.f64 %d7, %d0, %d1;
fma.rn.f64 %d3, %d4, %d5, %d6;
mad.rn.f64 %d3, %d4, %d5, %d6;
div.rn.f64 %d3, %d4, %d5;
rcp.rn.f64 %d7, %d0;
rcp.approx.ftz.f64 %d7, %d0;
sqrt.rn.f64 %d1, %d2;
rsqrt.approx.ftz.f64 %d3, %d4;
add.rn.ftz.sat.f16 %h5, %h6, %h7;
sub.rn.ftz.sat.f16 %h4, %h5, %h6;
mul.rn.ftz.sat.f16 %h4, %h5, %h6;
fma.rn.ftz.sat.f16 %h0, %h1, %h2, %h3;
abs.ftz.f16 %h2, %h3;
neg.ftz.f16 %h2, %h3;
min.ftz.NaN.xorsign.abs.f16x2 %r3, %r4, %r5;
max.ftz.NaN.xorsign.abs.f16 %h7, %h0, %h1;
ex2.approx.ftz.bf16 %h7, %h0;
tanh.approx.f16 %h5, %h6;
cvt.sat.s32.s64 %r5, %d6;
cvt.rp.ftz.sat.f32.u32 %r7, %r0;
cvt.rn.satfinite.relu.f16.f32 %h7, %r0;
cvt.rn.satfinite.relu.f16x2.f32 %r0, %r1, %r2;
cvt.rn.satfinite.relu.e4m3x2.f32 %h4, %r5, %r6;
cvt.rn.satfinite.relu.e4m3x2.f16x2 %h7, %r0;
cvt.rn.relu.f16x2.e4m3x2 %r7, %h0;
cvt.pack.sat.u16.s32 %r5, %r6, %r7;
cvt.pack.sat.u8.s32.b32 %r3, %r4, %r5, %r6;
ldu.global.v2.s32 {%r0, %r1}, [%d1];
prefetch.global.L1 [%d1];
discard.global.L2 [%d1], 128;
applypriority.global.L2::evict_normal [%d1], 128;
createpolicy.fractional.L2::evict_normal.b64 %d1, 1.0;
atom.relaxed.global.exch.L2::cache_hint.b64 %d7, [%d1], %d0, %d1;
atom.acquire.cta.shared::cta.cas.b64 %d6, [%d1], %d7, %d0;
atom.acquire.gpu.global.max.noftz.L2::cache_hint.v4.bf16x2 {%r2, %r3, %r4, %r5}, [%d1], {%r6, %r7, %r0, %r1}, %d2;
red.release.sys.global.add.noftz.L2::cache_hint.bf16 [%d1], %h1, %d2;
red.release.cta.global.max.noftz.v4.f16 [%d1], {%h1, %h2, %h3, %h4};
cp.async.ca.shared.global.L2::64B [%d1], [%d2], 16;
cp.async.ca.shared.global.L2::cache_hint.L2::64B [%d1], [%d2], 16, %d3;
cp.async.commit_group ;
cp.async.wait_group 1;
cp.async.wait_all ;
cp.async.mbarrier.arrive.noinc.shared.b64 [%d1];
cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [%d1], [%d1], %r2, [%d1], %d3;
cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster.L2::cache_hint [%d1], [%d1], %r0, [%d1], %h1, %d2;
cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%d1], [%d1], %r3, [%d1];
cp.async.bulk.global.shared::cta.bulk_group.L2::cache_hint [%d1], [%d1], %r5, %d6;
cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.and.b32 [%d1], [%d1], %r4, [%d1];
cp.reduce.async.bulk.global.shared::cta.bulk_group.L2::cache_hint.add.noftz.bf16 [%d1], [%d1], %r0, %d1;
cp.async.bulk.commit_group ;
cp.async.bulk.wait_group.read 1;
cp.async.bulk.prefetch.L2.global.L2::cache_hint [%d1], %r0, %d1;
cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.L2::cache_hint [%d1], [%d1, {%r0, %r1, %r2}], [%d1], %d3;
cp.async.bulk.tensor.5d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster.L2::cache_hint [%d1], [%d1, {%r0, %r1, %r2, %r3, %r4}], [%d1], %h2, %d3;
cp.async.bulk.tensor.5d.global.shared::cta.tile.bulk_group.L2::cache_hint [%d1, {%r0, %r1, %r2, %r3, %r4}], [%d1], %d0;
cp.reduce.async.bulk.tensor.3d.global.shared::cta.or.tile.bulk_group.L2::cache_hint [%d1, {%r0, %r1, %r2}], [%d1], %d2;
cp.async.bulk.prefetch.tensor.3d.L2.global.tile.L2::cache_hint [%d1, {%r0, %r1, %r2}], %d5;
prefetch.param.tensormap [%d1];
st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v2.f32 [%d1], {%r5, %r6}, [%d1];
red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u64 [%d1], %d3, [%d1];
ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%r0, %r1}, [%d1];
stmatrix.sync.aligned.m8n8.x4.trans.shared::cta.b16 [%d1], {%r0, %r1, %r2, %r3};
mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 {%r0, %r1}, {%r32, %r33}, {%r48}, {%r0, %r1};
mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32 {%r0, %r1, %r2, %r3}, {%r32, %r33}, {%r48}, {%r0, %r1, %r2, %r3};
mma.sync.aligned.m16n8k16.row.col.f16.e4m3.e4m3.f16 {%r0, %r1}, {%r32, %r33}, {%r48}, {%r0, %r1};
mma.sync.aligned.m8n8k16.row.col.satfinite.s32.u8.u8.s32 {%r0, %r1}, {%r32}, {%r48}, {%r0, %r1};
mma.sync.aligned.m8n8k4.row.col.rn.f64.f64.f64.f64 {%e0, %e1}, {%e8}, {%e20}, {%e0, %e1};
mma.sync.aligned.m8n8k32.row.col.satfinite.s32.u4.u4.s32 {%r0, %r1}, {%r32}, {%r48}, {%r0, %r1};
mma.sync.aligned.m8n8k128.row.col.s32.b1.b1.s32.xor.popc {%r0, %r1}, {%r32}, {%r48}, {%r0, %r1};
movmatrix.sync.aligned.m8n8.trans.b16 %r1, %r2;
wmma.load.a.sync.aligned.row.m16n16k16.global.f16 {%r0, %r1, %r2, %r3, %r4, %r5, %r6, %r7}, [%d1];
wmma.load.a.sync.aligned.row.m8n8k4.global.f64 {%e0}, [%d1];
wmma.store.d.sync.aligned.row.m16n16k16.global.f16 [%d1], {%r0, %r1, %r2, %r3};
wmma.store.d.sync.aligned.row.m8n8k4.global.f64 [%d1], {%e0, %e1};
wmma.mma.sync.aligned.row.row.m16n16k16.f16.f16 {%r0, %r1, %r2, %r3}, {%r16, %r17, %r18, %r19, %r20, %r21, %r22, %r23}, {%r32, %r33, %r34, %r35, %r36, %r37, %r38, %r39}, {%r48, %r49, %r50, %r51};
wmma.mma.sync.aligned.row.row.m16n16k16.f32.bf16.bf16.f32 {%r0, %r1, %r2, %r3, %r4, %r5, %r6, %r7}, {%r16, %r17, %r18, %r19}, {%r32, %r33, %r34, %r35}, {%r48, %r49, %r50, %r51, %r52, %r53, %r54, %r55};
wmma.mma.sync.aligned.row.row.m16n16k16.s32.u8.u8.s32.satfinite {%r0, %r1, %r2, %r3, %r4, %r5, %r6, %r7}, {%r16, %r17}, {%r32, %r33}, {%r48, %r49, %r50, %r51, %r52, %r53, %r54, %r55};
wmma.mma.sync.aligned.row.row.m8n8k4.rn.f64.f64.f64.f64 {%e0, %e1}, {%e2}, {%e3}, {%e4, %e5};
wgmma.fence.sync.aligned ;
wgmma.commit_group.sync.aligned ;
wgmma.wait_group.sync.aligned 1;
wgmma.mma_async.sync.aligned.m64n64k16.f16.f16.f16 {%r0, %r1, %r2, %r3, %r4, %r5, %r6, %r7, %r8, %r9, %r10, %r11, %r12, %r13, %r14, %r15}, %d1, %d2, %p1, 1, 1, 0, 0;
wgmma.mma_async.sync.aligned.m64n64k8.f32.tf32.tf32 {%r0, %r1, %r2, %r3, %r4, %r5, %r6, %r7, %r8, %r9, %r10, %r11, %r12, %r13, %r14, %r15, %r16, %r17, %r18, %r19, %r20, %r21, %r22, %r23, %r24, %r25, %r26, %r27, %r28, %r29, %r30, %r31}, %d1, %d2, %p1, 1, 1;
wgmma.mma_async.sync.aligned.m64n64k32.f16.e4m3.e4m3 {%r0, %r1, %r2, %r3, %r4, %r5, %r6, %r7, %r8, %r9, %r10, %r11, %r12, %r13, %r14, %r15}, %d1, %d2, %p1, 1, 1;
wgmma.mma_async.sync.aligned.m64n64k32.satfinite.s32.u8.u8 {%r0, %r1, %r2, %r3, %r4, %r5, %r6, %r7, %r8, %r9, %r10, %r11, %r12, %r13, %r14, %r15, %r16, %r17, %r18, %r19, %r20, %r21, %r22, %r23, %r24, %r25, %r26, %r27, %r28, %r29, %r30, %r31}, %d1, %d2, %p1;
bar.cta.sync 0;
bar.cta.arrive 0, 32;
bar.cta.red.popc.u32 %r1, 0, %p1;
bar.cta.red.and.pred %p1, 0, %p2;
barrier.cta.sync.aligned 0;
barrier.cta.arrive.aligned 0, 32;
barrier.cta.red.popc.aligned.u32 %r1, 0, %p1;
barrier.cta.red.and.aligned.pred %p1, 0, %p2;
barrier.cluster.arrive.relaxed.aligned ;
barrier.cluster.wait.acquire.aligned ;
mbarrier.init.shared.b64 [%d1], %r3;
mbarrier.inval.shared.b64 [%d1];
mbarrier.complete_tx.relaxed.cluster.shared.b64 [%d1], %r7;
mbarrier.arrive.relaxed.cta.shared.b64 %d4, [%d1];
mbarrier.arrive.expect_tx.relaxed.cluster.shared.b64 %d2, [%d1], %r3;
mbarrier.arrive_drop.noComplete.release.cta.shared.b64 %d4, [%d1], %r5;
mbarrier.test_wait.relaxed.cluster.shared::cta.b64 %p0, [%d1], %d1;
mbarrier.try_wait.parity.acquire.cta.shared.b64 %p4, [%d1], %r5;
mbarrier.pending_count.b64 %r4, %d5;
fence.mbarrier_init.release.cluster ;
fence.release.sync_restrict::shared::cta.cluster ;
fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster ;
fence.proxy.tensormap::generic.release.cta ;
fence.proxy.tensormap::generic.acquire.cta [%d1], 128;
bar.warp.sync %r2;
fence.sc.cta ;
fence.proxy.async.shared::cta ;
setmaxnreg.inc.sync.aligned.u32 40;
shfl.sync.up.b32 %r5, %r6, %r7, %r0, %r1;
vote.sync.all.pred %p1, %p2, %r3;
vote.sync.ballot.b32 %r2, %p3, %r4;
match.any.sync.b32 %r5, %r6, %r7;
match.all.sync.b32 %r3, %r4, %r5;
redux.sync.add.u32 %r1, %r2, %r3;
redux.sync.and.b32 %r3, %r4, %r5;
atom.relaxed.cta.global.exch.L2::cache_hint.b128 %q3, [%d1], %q4, %d5;
atom.acq_rel.sys.shared.cas.b128 %q1, [%d1], %q2, %q3;
vadd2.u32.u32.u32.sat %r4, %r5, %r6, %r7;
vadd4.u32.u32.u32.sat %r0, %r1, %r2, %r3;
vsub2.u32.u32.u32.sat %r0, %r1, %r2, %r3;
vsub4.u32.u32.u32.sat %r4, %r5, %r6, %r7;
vavrg2.u32.u32.u32.sat %r4, %r5, %r6, %r7;
vavrg4.u32.u32.u32.sat %r0, %r1, %r2, %r3;
vabsdiff2.u32.u32.u32.sat %r4, %r5, %r6, %r7;
vabsdiff4.u32.u32.u32.sat %r4, %r5, %r6, %r7;
vmin2.u32.u32.u32.sat %r4, %r5, %r6, %r7;
vmin4.u32.u32.u32.sat %r0, %r1, %r2, %r3;
vmax2.u32.u32.u32.sat %r4, %r5, %r6, %r7;
vmax4.u32.u32.u32.sat %r4, %r5, %r6, %r7;
vset2.u32.u32.eq.add %r4, %r5, %r6, %r7;
vset4.u32.u32.eq.add %r0, %r1, %r2, %r3;
tensormap.replace.tile.rank.shared::cta.b1024.b32 [%d1], %r7;
tensormap.replace.tile.box_dim.global.b1024.b32 [%d1], 1, %r1;
tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.cta.sync.aligned [%d1], [%d2], 128;
ld.acquire.gpu.global.L1::no_allocate.L2::128B.v2.f32 {%f1, %f2}, [%d1];
ld.global.nc.L1::evict_last.v4.b32 {%r1, %r2, %r3, %r4}, [%d1];
ld.volatile.shared.u16 %h1, [%d1];
st.release.gpu.global.v2.b32 [%d1], {%r1, %r2};
st.global.wt.b64 [%d1], %d2;
st.volatile.shared.v2.u16 [%d1], {%h1, %h2};
)";

constexpr char kBlackwell[] = R"(min.ftz.NaN.abs.f32 %r0, %r1, %r2, %r3;
max.ftz.NaN.abs.f32 %r0, %r1, %r2, %r3;
add.rz.ftz.f32x2 %d2, %d3, %d4;
sub.rp.ftz.f32x2 %d0, %d1, %d2;
mul.rn.ftz.f32x2 %d6, %d7, %d0;
fma.rn.ftz.f32x2 %d2, %d3, %d4, %d5;
add.rp.sat.f32.bf16 %r7, %h0, %r1;
sub.rp.sat.f32.f16 %r5, %h6, %r7;
fma.rn.sat.f32.f16 %r6, %h7, %h0, %r1;
st.bulk.weak.shared::cta [%d1], %d2, 0;
)";

constexpr char kRegisters[] =
    ".reg .pred %p<8>; .reg .b16 %h<16>; .reg .b32 %r<160>; .reg .b64 %d<16>; .reg .b128 %q<8>; "
    ".reg .f32 %f<8>; .reg .f64 %e<40>;\n";

// "add.rn.f32 %f1, ..;" apart.
struct Form {
  std::string mnemonic;
  std::vector<std::string> words;
  std::string operands;  // with the blank before them
  [[nodiscard]] std::string Text() const {
    return fmt::format("{}.{}{}", mnemonic, fmt::join(words, "."), operands);
  }
};

std::vector<Form> FormsOf(const std::string& text) {
  std::vector<Form> forms;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const size_t end = std::min(line.find_first_of(" ;"), line.size());
    std::istringstream words(line.substr(0, end));
    Form form;
    std::getline(words, form.mnemonic, '.');
    for (std::string word; std::getline(words, word, '.');) form.words.push_back(word);
    form.operands = line.substr(end);
    forms.push_back(std::move(form));
  }
  return forms;
}

std::vector<std::string> TypesOf(const std::vector<std::string>& words) {
  std::vector<std::string> types;
  for (const std::string& word : words) {
    if (ptx::FindType(word)) types.push_back(word);
  }
  return types;
}

// All orders of up to four words; of more, each word moved to each place, and some at random. Types
// keep theirs: another one is another instruction, which the operands may fit or not.
std::vector<Form> OrdersOf(const Form& form) {
  std::set<std::vector<std::string>> orders;
  const auto add = [&](const std::vector<std::string>& words) {
    if (words != form.words && TypesOf(words) == TypesOf(form.words)) orders.insert(words);
  };
  std::vector<std::string> words = form.words;
  if (words.size() <= 4) {
    std::ranges::sort(words);
    do {
      add(words);
    } while (std::ranges::next_permutation(words).found);
  }
  std::mt19937 random(static_cast<uint32_t>(form.Text().size()));
  for (int i = 0; i < 20 && form.words.size() > 4; ++i) {
    words = form.words;
    std::ranges::shuffle(words, random);
    add(words);
  }
  for (size_t from = 0; from < form.words.size() && form.words.size() > 4; ++from) {
    for (size_t to = 0; to < form.words.size(); ++to) {
      words = form.words;
      words.erase(words.begin() + static_cast<std::ptrdiff_t>(from));
      words.insert(words.begin() + static_cast<std::ptrdiff_t>(to), form.words[from]);
      add(words);
    }
  }
  std::vector<Form> forms;
  for (const auto& order : orders) forms.push_back({form.mnemonic, order, form.operands});
  return forms;
}

std::string Header(const std::string& target) {
  return ".version 9.0\n.target " + target + "\n.address_size 64\n";
}

// The numbers of the instructions that ptxas refuses. It does not report all at once, so it is run
// again without them.
std::set<size_t> RefusedByPtxas(const std::string& ptxas, const std::string& target,
                                const std::vector<std::string>& instructions) {
  const std::string head = Header(target) + ".visible .entry k() {\n" + kRegisters;
  const auto first = 1 + static_cast<size_t>(std::ranges::count(head, '\n'));
  std::set<size_t> refused;
  for (;;) {
    std::string text = head;
    for (size_t i = 0; i < instructions.size(); ++i) {
      text += (refused.contains(i) ? "" : instructions[i]) + "\n";
    }
    const auto file = ScratchFile::Make(".ptx", text + "ret;\n}\n");
    EXPECT_TRUE(file.ok());
    const auto out = RunProcess(ptxas, {"-arch=" + target, "-O0", file->path(), "-o", "/dev/null"});
    if (!out.ok()) {
      ADD_FAILURE() << out.error().message;
      return refused;
    }
    if (out->exit_code == 0) return refused;
    const size_t before = refused.size();
    std::istringstream lines(out->out + out->err);
    for (std::string line; std::getline(lines, line);) {
      const size_t at = line.find(", line ");
      if (at == std::string::npos || line.find("; warning") != std::string::npos) continue;
      refused.insert(std::stoul(line.substr(at + 7)) - first);
    }
    if (refused.size() == before) {
      ADD_FAILURE() << "ptxas: " << out->err;
      return refused;
    }
  }
}

// An entry for each instruction, so that each has its own errors.
std::shared_ptr<const ptx::Module> ParseEach(const std::string& target,
                                             const std::vector<std::string>& instructions) {
  std::string text = Header(target);
  for (size_t i = 0; i < instructions.size(); ++i) {
    text +=
        fmt::format(".visible .entry k{}() {{\n{}{}\nret;\n}}\n", i, kRegisters, instructions[i]);
  }
  Diagnostics diagnostics;
  return ptx::ParseModuleInParts(SourceFile("orders.ptx", text), &diagnostics);
}

void CheckOrders(const std::string& target, const std::string& samples) {
  const auto ptxas = FindTool(Tool::kPtxas);
  if (!ptxas.ok()) GTEST_SKIP() << ptxas.error().message;
  std::vector<std::string> texts;
  std::vector<size_t> form_of;  // where the form stands whose order a text is
  for (const Form& form : FormsOf(samples)) {
    const size_t at = texts.size();
    texts.push_back(form.Text());
    form_of.push_back(at);
    for (const Form& order : OrdersOf(form)) {
      texts.push_back(order.Text());
      form_of.push_back(at);
    }
  }
  const std::set<size_t> refused = RefusedByPtxas(*ptxas, target, texts);
  const auto module = ParseEach(target, texts);
  ASSERT_NE(module, nullptr);
  ASSERT_EQ(module->functions.size(), texts.size());
  for (size_t i = 0; i < texts.size(); ++i) {
    const ptx::Function& function = module->functions[i];
    const bool bad = !function.errors.empty();
    EXPECT_EQ(bad, refused.contains(i))
        << texts[i] << ": " << (bad ? function.errors[0].message : "ptxas refuses it");
    if (form_of[i] == i) {
      EXPECT_FALSE(bad) << texts[i];
    }
    const ptx::Function& form = module->functions[form_of[i]];
    if (bad || !form.errors.empty()) continue;
    EXPECT_EQ(function.code[0].op, form.code[0].op) << texts[i];
    EXPECT_EQ(function.code[0].mods, form.code[0].mods) << texts[i];
    EXPECT_EQ(function.code[0].type, form.code[0].type) << texts[i];
  }
}

TEST(PtxOrder, AsPtxasHasIt) { CheckOrders("sm_90a", kHopper); }

TEST(PtxOrder, AsPtxasHasItForBlackwell) { CheckOrders("sm_100a", kBlackwell); }

// A new row needs a form above.
TEST(PtxOrder, EveryRowWithSeveralWordsHasAForm) {
  std::set<ptx::Op> seen;
  for (const auto& [target, samples] : {std::pair("sm_90a", kHopper), {"sm_100a", kBlackwell}}) {
    std::vector<std::string> texts;
    for (const Form& form : FormsOf(samples)) texts.push_back(form.Text());
    const auto module = ParseEach(target, texts);
    ASSERT_NE(module, nullptr);
    for (const ptx::Function& function : module->functions) {
      ASSERT_TRUE(function.errors.empty()) << function.errors[0].message;
      seen.insert(function.code[0].op);
    }
  }
  seen.insert(ptx::Op::kBrx);  // which needs a table of targets; its second word may be left out
  for (const ptx::Row& row : ptx::Rows()) {
    EXPECT_TRUE(row.slots.size() < 2 || seen.contains(row.op)) << row.name;
  }
}

}  // namespace
}  // namespace tarsia::compiler::ptx_order_test
